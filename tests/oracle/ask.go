package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// leastSample is the number of nodes below which the scheduler looks at all of them.
const leastSample = 100

// attempt is one scheduling attempt of one pod.
type attempt struct {
	*cluster
	fwk      framework.Framework
	pod      *v1.Pod
	snapshot *internalcache.Snapshot
	// state is what the plugins noted while the nodes were filtered.
	state fwk.CycleState
	// fitErr has the scheduler's diagnosis, where no node fits.
	fitErr *framework.FitError
	// sample is how many of the nodes that fit the scheduler has looked for, where it has stopped before the last.
	sample int
	// looked is how many nodes the scheduler has looked at.
	looked int
}

// answerCase answers one case. At most limit pods of a sequence are placed; all if limit is 0.
func answerCase(tc *testCase, limit int) *answer {
	out := &answer{ID: tc.ID, Family: tc.Family}
	if err := out.fill(tc, limit); err != nil {
		out.Error = err.Error()
	}
	return out
}

func (out *answer) fill(tc *testCase, limit int) error {
	cfg, err := loadConfig(tc.Config)
	if err != nil {
		return err
	}
	if tc.Pod != nil && tc.Pods != nil {
		return errors.New("a case has a pod or pods, not both")
	}
	var pending []*v1.Pod
	raws := tc.Pods
	if tc.Pod != nil {
		raws = append(raws, tc.Pod)
	}
	for _, raw := range raws {
		pod, err := decodePod(raw)
		if err != nil {
			return err
		}
		pending = append(pending, pod)
	}
	c, err := newCluster(cfg, tc, pending...)
	if err != nil {
		return err
	}
	defer c.stop()

	if tc.ListPlugins {
		out.Plugins = c.listPlugins()
	}
	if tc.Pods != nil {
		if limit > 0 && len(pending) > limit {
			pending = pending[:limit]
		}
		for _, pod := range pending {
			s, err := c.place(pod)
			if err != nil {
				return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
			}
			out.Sequence = append(out.Sequence, s)
		}
		return nil
	}
	if tc.Pod == nil {
		return nil
	}

	a, v, err := c.attempt(pending[0])
	if err != nil {
		return err
	}
	out.verdict = v
	if a.fitErr == nil || !a.fwk.HasPostFilterPlugins() {
		return nil
	}
	var outcomes []*outcome
	v.PostFilter, outcomes = a.askPostFilter()
	a.fitErr.Diagnosis.PostFilterMsg = v.PostFilter.Message
	v.Message = a.fitErr.Error()
	if tc.Repeat == 0 {
		return nil
	}
	for range tc.Repeat - 1 {
		more, err := again(tc, pending[0])
		if err != nil {
			return err
		}
		outcomes = append(outcomes, more...)
	}
	out.PostFilterOutcomes = distinct(outcomes)
	return nil
}

// attempt schedules the pod, but does not run the PostFilter plugins, and lays open the steps that led to the result.
func (c *cluster) attempt(pod *v1.Pod) (*attempt, *verdict, error) {
	f, err := c.profileFor(pod)
	if err != nil {
		return nil, nil, err
	}
	a := &attempt{cluster: c, fwk: f, pod: pod, snapshot: f.SnapshotSharedLister().(*internalcache.Snapshot)}
	v := &verdict{}
	if pod.DeletionTimestamp != nil {
		v.Skipped = true
		return a, v, nil
	}
	for _, pl := range f.PreEnqueuePlugins() {
		if s := pl.PreEnqueue(c.ctx, pod); !s.IsSuccess() {
			v.PreEnqueue = toStatus(s.WithPlugin(pl.Name()))
			return a, v, nil
		}
	}
	if err := c.sched.Cache.UpdateSnapshot(klog.FromContext(c.ctx), a.snapshot); err != nil {
		return nil, nil, err
	}
	a.state = framework.NewCycleState()
	chosen, err := a.schedule(v)
	if err != nil {
		return nil, nil, err
	}
	if v.Reason == v1.PodReasonUnschedulable && a.fitErr == nil { // there are no nodes at all
		return a, v, nil
	}
	feasible := a.explainFilter(v)
	if chosen == "" {
		v.Winners = nil
		return a, v, nil
	}
	a.explainScore(v, feasible)
	if !slices.Contains(v.Winners, chosen) {
		return nil, nil, fmt.Errorf("the scheduler chose %s, which is not one of %v", chosen, v.Winners)
	}
	return a, v, nil
}

// schedule asks the scheduler for its choice and notes why there is none.
func (a *attempt) schedule(v *verdict) (string, error) {
	info, err := framework.NewPodInfo(a.pod)
	if err != nil {
		return "", err
	}
	res, err := a.sched.SchedulePod(a.ctx, a.fwk, a.state, &framework.QueuedPodInfo{PodInfo: info})
	if err == nil {
		if res.EvaluatedNodes < a.snapshot.NumNodesInPlacement() && res.FeasibleNodes >= leastSample {
			a.sample, v.Evaluated = res.FeasibleNodes, res.EvaluatedNodes
		}
		if res.SuggestedHost != a.pod.Status.NominatedNodeName {
			a.looked = res.EvaluatedNodes
		}
		return res.SuggestedHost, nil
	}
	v.Message = err.Error()
	v.Reason = v1.PodReasonSchedulerError
	if errors.As(err, &a.fitErr) || errors.Is(err, scheduler.ErrNoNodesAvailable) {
		v.Reason = v1.PodReasonUnschedulable
	}
	if a.fitErr != nil && a.fitErr.Diagnosis.PreFilterMsg == "" {
		a.looked = a.fitErr.Diagnosis.NodeToStatus.Len()
	}
	return "", nil
}

// explainFilter runs the PreFilter and Filter plugins and returns the nodes that pass.
func (a *attempt) explainFilter(v *verdict) []fwk.NodeInfo {
	state := framework.NewCycleState()
	res, s, rejecting := a.fwk.RunPreFilterPlugins(a.ctx, state, a.pod)
	v.PreFilter = toStatus(s)
	if !s.IsSuccess() {
		return nil
	}
	if !res.AllNodes() {
		v.PreFilterNodes = sets.List(res.NodeNames)
		v.PreFilterPlugins = sets.List(rejecting)
	}
	nodes, _ := a.snapshot.NodeInfos().List()
	if a.sample > 0 {
		nodes = slices.Concat(nodes[a.first:], nodes[:a.first])[:v.Evaluated]
	}
	a.first = (a.first + a.looked) % a.snapshot.NumNodesInPlacement()
	v.Filter = map[string]*status{}
	var feasible []fwk.NodeInfo
	for _, n := range nodes {
		name := n.Node().Name
		nominated := name == a.pod.Status.NominatedNodeName
		if !res.AllNodes() && !res.NodeNames.Has(name) && !nominated {
			continue
		}
		s := a.fwk.RunFilterPluginsWithNominatedPods(a.ctx, state, a.pod, n)
		v.Filter[name] = toStatus(s)
		if !s.IsSuccess() {
			continue
		}
		if nominated {
			// The node that was cleared for the pod is tried first, and no other one if it fits.
			v.Winners = []string{name}
		}
		feasible = append(feasible, n)
	}
	if v.Winners != nil {
		return nil
	}
	if a.fitErr == nil {
		a.state = state
	}
	return feasible
}

// explainScore runs the PreScore and Score plugins and finds the nodes with the highest total.
func (a *attempt) explainScore(v *verdict, feasible []fwk.NodeInfo) {
	if len(feasible) == 0 {
		return
	}
	if !a.fwk.HasScorePlugins() {
		// The scheduler takes the first node it finds, which may be any.
		for _, n := range feasible {
			v.Winners = append(v.Winners, n.Node().Name)
		}
		slices.Sort(v.Winners)
		return
	}
	scores, err := a.score(feasible)
	if err != nil {
		// The scheduler does not score a single node, and hence does not mind.
		if len(feasible) == 1 {
			v.Winners = []string{feasible[0].Node().Name}
		}
		return
	}
	v.Scores, v.Totals = map[string]map[string]int64{}, map[string]int64{}
	for _, n := range scores {
		byPlugin := map[string]int64{}
		for _, p := range n.Scores {
			byPlugin[p.Name] = p.Score
		}
		v.Scores[n.Name], v.Totals[n.Name] = byPlugin, n.TotalScore
	}
	best := slices.Max(slices.Collect(maps.Values(v.Totals)))
	for _, n := range slices.Sorted(maps.Keys(v.Totals)) {
		if v.Totals[n] == best {
			v.Winners = append(v.Winners, n)
		}
	}
}

func (a *attempt) score(feasible []fwk.NodeInfo) ([]fwk.NodePluginScores, error) {
	if s := a.fwk.RunPreScorePlugins(a.ctx, a.state, a.pod, feasible); !s.IsSuccess() {
		return nil, s.AsError()
	}
	scores, s := a.fwk.RunScorePlugins(a.ctx, a.state, a.pod, feasible)
	if !s.IsSuccess() {
		return nil, s.AsError()
	}
	return scores, nil
}

// place schedules a pod and assumes it onto the first of the winners, as the scheduler does before it binds a pod.
func (c *cluster) place(pod *v1.Pod) (*step, error) {
	a, v, err := c.attempt(pod)
	if err != nil {
		return nil, err
	}
	s := &step{
		Pod: pod.Namespace + "/" + pod.Name, PreEnqueue: v.PreEnqueue,
		Totals: v.Totals, Evaluated: v.Evaluated, Winners: v.Winners, Reason: v.Reason, Message: v.Message,
	}
	if len(v.Winners) == 0 {
		return s, nil
	}
	s.Placed = v.Winners[0]
	assumed := pod.DeepCopy()
	assumed.Spec.NodeName = s.Placed
	logger := klog.FromContext(c.ctx)
	if err := c.sched.Cache.AssumePod(logger, assumed); err != nil {
		return nil, err
	}
	c.sched.SchedulingQueue.DeleteNominatedPodIfExists(assumed)
	if r := a.fwk.RunReservePluginsReserve(context.WithoutCancel(c.ctx), a.state, assumed, s.Placed); !r.IsSuccess() {
		return nil, fmt.Errorf("reserve: %w", r.AsError())
	}
	return s, nil
}
