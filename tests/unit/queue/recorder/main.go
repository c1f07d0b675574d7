// Replays steps on the scheduling queue of kube-scheduler itself and prints its state after each.
//
// It made ../recorded.jsonl.gz: steps on standard input, one JSON a line, in the form of the
// recorded `step`; the answer is the recorded `after`. It is built in a module that requires
// k8s.io/kubernetes v1.36.3, beside an empty empty.s, which lets it reach the two flushes that the
// package runs on timers of its own.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"time"
	_ "unsafe"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	testingclock "k8s.io/utils/clock/testing"
)

//go:linkname flushBackoff k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushBackoffQCompleted
func flushBackoff(p *queue.PriorityQueue, logger klog.Logger)

//go:linkname flushUnsched k8s.io/kubernetes/pkg/scheduler/backend/queue.(*PriorityQueue).flushUnschedulablePodsLeftover
func flushUnsched(p *queue.PriorityQueue, logger klog.Logger)

type Pod struct {
	UID, Nominated string
	Priority       int32
	RV             int
	Gates          bool
	Label          string
}
type Op struct {
	Op               string
	Old, New         *Pod
	UID              string
	Plugins, Pending []string
	Event            string
	Nanos            int64
	Node             string
}

func pod(p *Pod) *v1.Pod {
	if p == nil {
		return nil
	}
	out := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.UID, Namespace: "ns", UID: types.UID(p.UID), ResourceVersion: fmt.Sprint(p.RV), Labels: map[string]string{"l": p.Label}},
		Spec: v1.PodSpec{SchedulerName: "default-scheduler", Priority: &p.Priority}, Status: v1.PodStatus{NominatedNodeName: p.Nominated}}
	if p.Gates {
		out.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "g"}}
	}
	return out
}

type pre struct{}

func (pre) Name() string { return "SchedulingGates" }
func (pre) PreEnqueue(_ context.Context, p *v1.Pod) *fwk.Status {
	if len(p.Spec.SchedulingGates) > 0 {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "gates")
	}
	return nil
}

type quota struct{}

func (quota) Name() string { return "Quota" }
func (quota) PreEnqueue(_ context.Context, p *v1.Pod) *fwk.Status {
	if p.Labels["l"] == "none" {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "quota")
	}
	return nil
}

func always(_ klog.Logger, _ *v1.Pod, _, _ interface{}) (fwk.QueueingHint, error) {
	return fwk.Queue, nil
}

func main() {
	metrics.Register()
	logger := klog.Background()
	klog.SetLogger(klog.Logger{})
	events := map[string]fwk.ClusterEvent{
		"NodeAdd":           {Resource: fwk.Node, ActionType: fwk.Add},
		"NodeDelete":        {Resource: fwk.Node, ActionType: fwk.Delete},
		"NodeLabel":         {Resource: fwk.Node, ActionType: fwk.UpdateNodeLabel},
		"AssignedPodDelete": framework.EventAssignedPodDelete,
		"AssignedPodAdd":    framework.EventAssignedPodAdd,
	}
	reg := func(r fwk.EventResource, a fwk.ActionType) fwk.ClusterEvent {
		return fwk.ClusterEvent{Resource: r, ActionType: a}
	}
	hints := queue.QueueingHintMap{}
	add := func(plugin string, e fwk.ClusterEvent, fn fwk.QueueingHintFn) {
		hints[e] = append(hints[e], &queue.QueueingHintFunction{PluginName: plugin, QueueingHintFn: fn})
	}
	add("SchedulingGates", reg(fwk.Pod, fwk.UpdatePodSchedulingGatesEliminated), always)
	add("Quota", reg(fwk.Pod, fwk.UpdatePodLabel), always)
	add("Quota", reg(fwk.Pod, fwk.Delete), always)
	add("Fit", reg(fwk.Node, fwk.Add|fwk.UpdateNodeTaint), func(_ klog.Logger, p *v1.Pod, _, _ interface{}) (fwk.QueueingHint, error) {
		if *p.Spec.Priority > 0 {
			return fwk.Queue, nil
		}
		return fwk.QueueSkip, nil
	})
	add("Affinity", reg(fwk.Node, fwk.Add|fwk.UpdateNodeTaint), always)
	add("Affinity", reg(fwk.Pod, fwk.Update), always)
	add("Claims", reg(fwk.Pod, fwk.Delete), func(_ klog.Logger, p *v1.Pod, _, _ interface{}) (fwk.QueueingHint, error) {
		if *p.Spec.Priority == 1 {
			return fwk.QueueSkip, nil
		}
		return fwk.Queue, fmt.Errorf("unsure")
	})
	scanner := bufio.NewScanner(os.Stdin)
	scanner.Buffer(make([]byte, 1<<20), 1<<24)
	var q *queue.PriorityQueue
	var clock *testingclock.FakeClock
	var store interface {
		Add(interface{}) error
		Delete(interface{}) error
	}
	flying := map[string]*framework.QueuedPodInfo{}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for scanner.Scan() {
		var op Op
		if err := json.Unmarshal(scanner.Bytes(), &op); err != nil {
			panic(err)
		}
		popped := ""
		ctx := context.Background()
		switch op.Op {
		case "start":
			metrics.SchedulerQueueIncomingPods.Reset()
			clock = testingclock.NewFakeClock(time.Unix(1000, 0))
			factory := informers.NewSharedInformerFactory(fake.NewSimpleClientset(), 0)
			store = factory.Core().V1().Pods().Informer().GetStore()
			flying = map[string]*framework.QueuedPodInfo{}
			less := (&queuesort.PrioritySort{}).Less
			stop := make(chan struct{})
			q = queue.NewPriorityQueue(less, factory, queue.WithClock(clock),
				queue.WithPodInitialBackoffDuration(time.Second), queue.WithPodMaxBackoffDuration(10*time.Second),
				queue.WithQueueingHintMapPerProfile(queue.QueueingHintMapPerProfile{"default-scheduler": hints}),
				queue.WithPreEnqueuePluginMap(map[string]map[string]fwk.PreEnqueuePlugin{"default-scheduler": {"SchedulingGates": pre{}, "Quota": quota{}}}),
				queue.WithMetricsRecorder(metrics.NewMetricsAsyncRecorder(1000, time.Hour, stop)))
		case "add":
			_ = store.Add(pod(op.New))
			q.Add(ctx, pod(op.New))
		case "update":
			_ = store.Add(pod(op.New))
			q.Update(ctx, pod(op.Old), pod(op.New))
			if op.Old.Nominated != "" && op.Old.Nominated != op.New.Nominated {
				limit := op.Old.Priority
				q.MoveAllToActiveOrBackoffQueue(logger, framework.EventAssignedPodDelete, pod(op.Old), nil, func(p *v1.Pod) bool { return *p.Spec.Priority <= limit })
			}
		case "delete":
			_ = store.Delete(pod(op.Old))
			q.Delete(pod(op.Old))
		case "pop":
			info, err := q.Pop(logger)
			if err != nil {
				panic(err)
			}
			popped = info.Pod.Name
			flying[popped] = info
		case "fail":
			info := flying[op.UID]
			delete(flying, op.UID)
			_ = info.Update(pod(op.New))
			info.UnschedulablePlugins = sets.New(op.Plugins...)
			info.PendingPlugins = sets.New(op.Pending...)
			if err := q.AddUnschedulableIfNotPresent(logger, info, q.SchedulingCycle()); err != nil {
				panic(err)
			}
		case "done":
			delete(flying, op.UID)
			q.Done(types.UID(op.UID))
		case "move":
			q.MoveAllToActiveOrBackoffQueue(logger, events[op.Event], nil, nil, nil)
		case "activate":
			q.Activate(logger, map[string]*v1.Pod{"x": pod(op.New)})
		case "nominate":
			info, _ := framework.NewPodInfo(pod(op.New))
			q.AddNominatedPod(logger, info, &fwk.NominatingInfo{NominatingMode: fwk.ModeOverride, NominatedNodeName: op.Node})
		case "flush":
			flushBackoff(q, logger)
		case "leftover":
			flushUnsched(q, logger)
		}
		if op.Op != "start" {
			clock.Step(time.Duration(op.Nanos))
		}
		where := map[string]string{}
		for _, p := range q.PodsInActiveQ() {
			where[p.Name] = "active"
		}
		for _, p := range q.PodsInBackoffQ() {
			where[p.Name] = "backoff"
		}
		for _, p := range q.UnschedulablePods() {
			info, _ := q.GetPod(p.Name, "ns")
			if info.Gated() {
				where[p.Name] = "gated:" + info.GatingPlugin
			} else {
				where[p.Name] = "unschedulable"
			}
		}
		detail := map[string]string{}
		for name := range where {
			info, _ := q.GetPod(name, "ns")
			names := info.UnschedulablePlugins.Union(info.PendingPlugins).UnsortedList()
			sort.Strings(names)
			detail[name] = fmt.Sprint(info.Attempts, info.UnschedulableCount, info.ConsecutiveErrorsCount, info.Timestamp.UnixNano(), names)
		}
		nominated := map[string][]string{}
		for _, n := range []string{"n1", "n2"} {
			for _, p := range q.NominatedPodsForNode(n) {
				nominated[n] = append(nominated[n], p.GetPod().Name)
			}
		}
		incoming := map[string]int{}
		for _, name := range []string{"active", "backoff", "unschedulable"} {
			for _, event := range []string{"UnschedulablePodAdd", "UnschedulablePodUpdate", "UnschedulablePodUpdatePodLabel", "UnschedulablePodUpdatePodSchedulingGatesEliminated", "ScheduleAttemptFailure", "BackoffComplete", "PopFromBackoffQ", "ForceActivate", "UnschedulableTimeout", "NodeAdd", "NodeDelete", "NodeUpdateNodeLabel", "AssignedPodDelete", "AssignedPodAdd"} {
				count, _ := testutil.GetCounterMetricValue(metrics.SchedulerQueueIncomingPods.WithLabelValues(name, event))
				if count > 0 {
					incoming[name+" "+event] = int(count)
				}
			}
		}
		line, _ := json.Marshal(map[string]interface{}{"popped": popped, "where": where, "detail": detail, "nominated": nominated, "incoming": incoming})
		out.Write(line)
		out.WriteString("\n")
	}
}
