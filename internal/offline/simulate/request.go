package simulate

import (
	"fmt"
	"maps"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Request returns the next request of Crossplane, with the last requirements of the function.
func (w *Cluster) Request() *wire.Request {
	req := &wire.Request{Composite: w.XR, Observed: w.Observed, Required: w.Required}
	if len(w.requirements) == 0 {
		return req
	}
	req.Required = maps.Clone(w.Required)
	if req.Required == nil {
		req.Required = map[string][]*structpb.Struct{}
	}
	for name, s := range w.requirements {
		if _, provided := w.Required[name]; !provided {
			req.Required[name] = w.find(s)
		}
	}
	return req
}

// find returns the selected resources: one or none.
func (w *Cluster) find(s wire.Selector) []*structpb.Struct {
	out := []*structpb.Struct{}
	for _, o := range w.RequiredResources {
		if f := o.GetFields(); f["apiVersion"].GetStringValue() == s.APIVersion && f["kind"].GetStringValue() == s.Kind &&
			metadataOf(o, "namespace") == s.Namespace && metadataOf(o, "name") == s.Name {
			out = append(out, o)
		}
	}
	return out
}

// selectorOf returns a selector of an object.
func selectorOf(o encoded.Struct) wire.Selector {
	return wire.Selector{
		APIVersion: o.At("apiVersion").Text(), Kind: o.At("kind").Text(),
		Namespace: o.At("metadata", "namespace").Text(), Name: o.At("metadata", "name").Text(),
	}
}

// maxQuestions is the number of times that Crossplane 2.3 calls a function whose requirements change with each call.
const maxQuestions = 5

// Explain calls the function as Crossplane does: again with the required resources, until the requirements do not change.
func (w *Cluster) Explain(runner function.Runner) (*wire.Response, compose.Plan, error) {
	for range maxQuestions {
		rsp, plan, err := runner.Explain(w.Request())
		if err != nil || maps.Equal(rsp.Requirements, w.requirements) {
			return rsp, plan, err
		}
		w.requirements = rsp.Requirements
	}
	return nil, compose.Plan{}, fmt.Errorf("the requirements of %s change in each of %d calls", nameOf(w.XR), maxQuestions)
}

func (w *Cluster) runner() (function.Runner, error) {
	kind := compose.KindOf(w.XR).GroupKind()
	runner, ok := w.Kinds[kind.String()]
	if !ok {
		return nil, fmt.Errorf("no function for composite resources of kind %s", kind)
	}
	return runner, nil
}
