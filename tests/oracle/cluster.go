package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	config "k8s.io/kubernetes/pkg/scheduler/apis/config"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// cluster is a scheduler with caches that hold the objects of a case.
type cluster struct {
	ctx    context.Context
	cancel context.CancelFunc
	sched  *scheduler.Scheduler
	client *fake.Clientset
	shared informers.SharedInformerFactory
	// first is the node at which the scheduler begins to look: it goes on where it has stopped.
	first int
}

const (
	defaultConfig = `{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}`
	// officialScheme is how error messages call the scheme of configurations. It is named after the place in the
	// source where it is made, which is not found in a build against released modules.
	officialScheme = "pkg/scheduler/apis/config/scheme/scheme.go:29"
)

// loadConfig decodes, defaults and validates a configuration, as the kube-scheduler command does with its file.
func loadConfig(raw json.RawMessage) (*config.KubeSchedulerConfiguration, error) {
	data := []byte(raw)
	if len(data) == 0 {
		data = []byte(defaultConfig)
	}
	if data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return nil, err
		}
		data = []byte(text)
	}
	obj, gvk, err := configscheme.Codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), configscheme.Scheme.Name(), officialScheme))
	}
	cfg, ok := obj.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("couldn't decode as KubeSchedulerConfiguration, got %s: ", gvk)
	}
	cfg.TypeMeta.APIVersion = gvk.GroupVersion().String()
	if err := validation.ValidateKubeSchedulerConfiguration(cfg); err != nil {
		return nil, err
	}
	return cfg, nil
}

// clusterScoped and namespaced are the kinds that the scheduler looks at.
var (
	clusterScoped = sets.New(
		"/v1, Kind=Node", "/v1, Kind=Namespace", "/v1, Kind=PersistentVolume",
		"storage.k8s.io/v1, Kind=StorageClass", "storage.k8s.io/v1, Kind=CSINode",
		"storage.k8s.io/v1, Kind=CSIDriver", "storage.k8s.io/v1, Kind=VolumeAttachment",
		"scheduling.k8s.io/v1, Kind=PriorityClass",
		"resource.k8s.io/v1, Kind=DeviceClass", "resource.k8s.io/v1, Kind=ResourceSlice",
	)
	namespaced = sets.New(
		"/v1, Kind=Pod", "/v1, Kind=Service", "/v1, Kind=ReplicationController",
		"/v1, Kind=PersistentVolumeClaim",
		"apps/v1, Kind=ReplicaSet", "apps/v1, Kind=StatefulSet",
		"policy/v1, Kind=PodDisruptionBudget", "storage.k8s.io/v1, Kind=CSIStorageCapacity",
		"resource.k8s.io/v1, Kind=ResourceClaim",
	)
	decoder = serializer.NewCodecFactory(clientscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
)

// decode reads one object and fills in what an API server always sets and the scheduler cannot do without.
func decode(raw []byte) (runtime.Object, error) {
	obj, gvk, err := decoder.Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	switch {
	case clusterScoped.Has(gvk.String()):
	case namespaced.Has(gvk.String()):
		if m.GetNamespace() == "" {
			m.SetNamespace(v1.NamespaceDefault)
		}
	default:
		return nil, fmt.Errorf("the scheduler does not look at objects of kind %s", gvk)
	}
	if m.GetUID() == "" {
		m.SetUID(types.UID(fmt.Sprintf("%s:%s/%s", gvk.Kind, m.GetNamespace(), m.GetName())))
	}
	if m.GetResourceVersion() == "" {
		m.SetResourceVersion("1")
	}
	if p, ok := obj.(*v1.Pod); ok && p.Spec.SchedulerName == "" {
		p.Spec.SchedulerName = v1.DefaultSchedulerName
	}
	return obj, nil
}

func decodePod(raw []byte) (*v1.Pod, error) {
	obj, err := decode(raw)
	if err != nil {
		return nil, err
	}
	pod, ok := obj.(*v1.Pod)
	if !ok {
		return nil, fmt.Errorf("a pod is wanted, got %T", obj)
	}
	return pod, nil
}

// newCluster starts a scheduler over the objects of the case and the pending pods, and waits until it knows them all.
// The caller must call stop.
func newCluster(cfg *config.KubeSchedulerConfiguration, tc *testCase, pending ...*v1.Pod) (*cluster, error) {
	c := &cluster{client: fake.NewSimpleClientset()}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if err := c.start(cfg, tc, pending); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func (c *cluster) stop() {
	c.cancel()
	if c.shared != nil {
		c.shared.Shutdown()
	}
}

func (c *cluster) start(cfg *config.KubeSchedulerConfiguration, tc *testCase, pending []*v1.Pod) error {
	assigned := 0
	for _, raw := range tc.Objects {
		obj, err := decode(raw)
		if err != nil {
			return err
		}
		if p, ok := obj.(*v1.Pod); ok {
			// The scheduler asks the API server to leave these out, which the fake one does not do.
			if p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed {
				continue
			}
			if p.Spec.NodeName != "" {
				assigned++
			}
		}
		if err := c.client.Tracker().Add(obj); err != nil {
			return err
		}
	}
	for _, p := range pending {
		if err := c.client.Tracker().Add(p.DeepCopy()); err != nil {
			return err
		}
	}
	// Preemption takes back the nomination of less important pods; no question should change the cluster.
	c.client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &v1.Pod{}, nil
	})

	c.shared = scheduler.NewInformerFactory(c.client, 0)
	recorder := func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }
	var err error
	c.sched, err = scheduler.New(c.ctx, c.client, c.shared, nil, profile.RecorderFactory(recorder),
		scheduler.WithComponentConfigVersion(cfg.TypeMeta.APIVersion),
		scheduler.WithProfiles(cfg.Profiles...),
		scheduler.WithPercentageOfNodesToScore(cfg.PercentageOfNodesToScore),
		scheduler.WithPodMaxBackoffSeconds(cfg.PodMaxBackoffSeconds),
		scheduler.WithPodInitialBackoffSeconds(cfg.PodInitialBackoffSeconds),
		scheduler.WithExtenders(cfg.Extenders...),
		scheduler.WithParallelism(1))
	if err != nil {
		return err
	}
	c.shared.Start(c.ctx.Done())
	c.shared.WaitForCacheSync(c.ctx.Done())
	if err := c.waitForHandlers(); err != nil {
		return err
	}
	if got, err := c.sched.Cache.PodCount(); err != nil || got != assigned {
		return fmt.Errorf("the scheduler knows %d placed pods of %d (%v)", got, assigned, err)
	}
	return nil
}

// waitForHandlers waits until all event handlers have seen all objects. The scheduler's own wait looks only ten times
// a second, hence the short attempts.
func (c *cluster) waitForHandlers() error {
	deadline := time.Now().Add(time.Minute)
	for {
		ctx, cancel := context.WithTimeout(c.ctx, time.Millisecond)
		err := c.sched.WaitForHandlersSync(ctx)
		cancel()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the event handlers did not see all objects: %w", err)
		}
	}
}

// profileFor finds the profile that schedules the pod.
func (c *cluster) profileFor(pod *v1.Pod) (framework.Framework, error) {
	f, ok := c.sched.Profiles[pod.Spec.SchedulerName]
	if !ok {
		return nil, fmt.Errorf("profile not found for scheduler name %q", pod.Spec.SchedulerName)
	}
	return f, nil
}

// listPlugins lists the enabled plugins of all profiles.
func (c *cluster) listPlugins() map[string]map[string][]plugin {
	all := map[string]map[string][]plugin{}
	for name, f := range c.sched.Profiles {
		list := f.ListPlugins()
		points := map[string][]plugin{}
		for point, set := range map[string]config.PluginSet{
			"preEnqueue": list.PreEnqueue, "queueSort": list.QueueSort, "preFilter": list.PreFilter,
			"filter": list.Filter, "postFilter": list.PostFilter, "preScore": list.PreScore, "score": list.Score,
			"reserve": list.Reserve, "permit": list.Permit, "preBind": list.PreBind, "bind": list.Bind,
			"postBind": list.PostBind, "placementGenerate": list.PlacementGenerate,
			"placementScore": list.PlacementScore,
		} {
			for _, p := range set.Enabled {
				points[point] = append(points[point], plugin{Name: p.Name, Weight: p.Weight})
			}
		}
		all[name] = points
	}
	return all
}
