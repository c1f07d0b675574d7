package main

import (
	"encoding/json"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
)

// testCase is one question.
type testCase struct {
	ID     string `json:"id"`
	Family string `json:"family,omitempty"`
	// Config is a KubeSchedulerConfiguration object, or a string with the text of one (YAML or JSON).
	Config json.RawMessage `json:"config,omitempty"`
	// Objects are the objects of the cluster, as the API server would return them.
	Objects []json.RawMessage `json:"objects,omitempty"`
	// Pod is the pending pod that the question is about.
	Pod json.RawMessage `json:"pod,omitempty"`
	// Pods is a sequence of pending pods that are placed one after another.
	Pods []json.RawMessage `json:"pods,omitempty"`
	// Repeat is how many times preemption is asked, each time in a fresh cluster, to learn all its outcomes.
	Repeat int `json:"repeat,omitempty"`
	// ListPlugins asks for the plugins of each profile.
	ListPlugins bool `json:"listPlugins,omitempty"`
}

// answer is what the scheduler said.
type answer struct {
	ID     string `json:"id"`
	Family string `json:"family,omitempty"`
	// Error says why the question could not be put: the configuration does not load, or the case is malformed.
	Error string `json:"error,omitempty"`
	// Plugins has the enabled plugins: profile name, extension point, plugins in order.
	Plugins map[string]map[string][]plugin `json:"plugins,omitempty"`
	*verdict
	// PostFilterOutcomes are all the outcomes of preemption that were seen or are tied with one that was seen.
	PostFilterOutcomes []*outcome `json:"postFilterOutcomes,omitempty"`
	// Sequence has one step for each pod of a sequence.
	Sequence []*step `json:"sequence,omitempty"`
}

// verdict is the outcome of one scheduling attempt of one pod.
type verdict struct {
	// Skipped says that the scheduler leaves the pod alone, since it is being deleted.
	Skipped bool `json:"skipped,omitempty"`
	// PreEnqueue is set when a PreEnqueue plugin holds the pod back; then nothing else is asked.
	PreEnqueue *status `json:"preEnqueue,omitempty"`
	PreFilter  *status `json:"preFilter,omitempty"`
	// PreFilterNodes are the nodes that PreFilter left, where it left only some.
	PreFilterNodes []string `json:"preFilterNodes,omitempty"`
	// PreFilterPlugins are the plugins that left only some nodes.
	PreFilterPlugins []string           `json:"preFilterPlugins,omitempty"`
	Filter           map[string]*status `json:"filter,omitempty"`
	// Scores has the normalised and weighted scores: node, plugin, score.
	Scores map[string]map[string]int64 `json:"scores,omitempty"`
	Totals map[string]int64            `json:"totals,omitempty"`
	// Evaluated is how many nodes were looked at, where that was not all of them.
	Evaluated int `json:"evaluated,omitempty"`
	// Winners are the nodes of which the scheduler picks one at random.
	Winners []string `json:"winners,omitempty"`
	// Reason and Message are those of the PodScheduled condition that the pod would get.
	Reason     string      `json:"reason,omitempty"`
	Message    string      `json:"message,omitempty"`
	PostFilter *postFilter `json:"postFilter,omitempty"`
}

// step is the fate of one pod of a sequence.
type step struct {
	Pod        string           `json:"pod"`
	PreEnqueue *status          `json:"preEnqueue,omitempty"`
	Totals     map[string]int64 `json:"totals,omitempty"`
	Evaluated  int              `json:"evaluated,omitempty"`
	Winners    []string         `json:"winners,omitempty"`
	// Placed is the node that the pod was put on before the next step: the first of the winners.
	Placed  string `json:"placed,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

type status struct {
	Code    string   `json:"code"`
	Plugin  string   `json:"plugin,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
}

type plugin struct {
	Name   string `json:"name"`
	Weight int32  `json:"weight,omitempty"`
}

// outcome is one possible outcome of the PostFilter plugins.
type outcome struct {
	Code string `json:"code"`
	// Nominated is the node that is to be cleared for the pod.
	Nominated string `json:"nominated,omitempty"`
	// Victims are the pods that are to be deleted, by name.
	Victims []string `json:"victims,omitempty"`
	Message string   `json:"message,omitempty"`
}

type postFilter struct {
	outcome
	// Candidates has what preemption would do on each node where it was tried.
	Candidates map[string]*candidate `json:"candidates,omitempty"`
}

// candidate is the result of trying preemption on one node: victims, or the status that says why there are none.
type candidate struct {
	*status
	Victims       []string `json:"victims,omitempty"`
	PDBViolations int      `json:"pdbViolations,omitempty"`
}

func toStatus(s *fwk.Status) *status {
	if s == nil {
		return &status{Code: fwk.Success.String()}
	}
	// Some plugins go through a map, so that the order of their reasons is random.
	return &status{Code: s.Code().String(), Plugin: s.Plugin(), Reasons: slices.Sorted(slices.Values(s.Reasons()))}
}
