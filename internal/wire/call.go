package wire

import (
	"maps"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Request is what Crossplane asks a function, as far as our functions read it. What is observed is read, not kept.
type Request struct {
	// Tag of the request, which its response repeats.
	Tag string
	// Composite is the composite resource as it is observed.
	Composite *structpb.Struct
	// Observed are the composed resources that are observed, by resource name.
	Observed map[string]encoded.Struct
	// Required are the resources that the Composition or the function itself asks for, by requirement name. A name that is missing was not
	// asked for; an empty list was asked for and does not exist.
	Required map[string][]*structpb.Struct
	// Desired are the resources that earlier steps of the pipeline desire, and Context is what they pass on.
	Desired map[string]*fnv1.Resource
	Context *structpb.Struct
}

// RequestOf reads a message. It shares what it can with it.
func RequestOf(m *fnv1.RunFunctionRequest) *Request {
	req := &Request{
		Tag:       m.GetMeta().GetTag(),
		Composite: m.GetObserved().GetComposite().GetResource(),
		Observed:  make(map[string]encoded.Struct, len(m.GetObserved().GetResources())),
		Required:  make(map[string][]*structpb.Struct, len(m.GetRequiredResources())),
		Desired:   m.GetDesired().GetResources(),
		Context:   m.GetContext(),
	}
	for name, r := range m.GetObserved().GetResources() {
		req.Observed[name] = unwrapEncoded(r.GetResource())
	}
	for name, rs := range m.GetRequiredResources() {
		items := make([]*structpb.Struct, 0, len(rs.GetItems()))
		for _, i := range rs.GetItems() {
			items = append(items, i.GetResource())
		}
		req.Required[name] = items
	}
	return req
}

// Selector names one resource that a function asks for, in a namespace or, where it has none, in the whole cluster.
type Selector struct {
	APIVersion, Kind, Namespace, Name string
}

func (s Selector) message() *fnv1.ResourceSelector {
	m := &fnv1.ResourceSelector{ApiVersion: s.APIVersion, Kind: s.Kind, Match: &fnv1.ResourceSelector_MatchName{MatchName: s.Name}}
	if s.Namespace != "" {
		m.Namespace = &s.Namespace
	}
	return m
}

// Response is what a function answers.
type Response struct {
	// Tag of the request, and how soon Crossplane calls again without an event.
	Tag string
	TTL time.Duration
	// Requirements are the resources that the function asks for, by requirement name, besides those of the Composition. Crossplane calls
	// again, with them, until a response asks for the same as the one before, and takes only that one.
	Requirements map[string]Selector
	// Composite is the composite resource with nothing but its status. Nil: nothing is desired.
	Composite *Resource
	// Composed are the composed resources that are desired, by resource name.
	Composed map[string]Resource
	// Desired are those of earlier steps of the pipeline, and Context is what they pass on.
	Desired map[string]*fnv1.Resource
	Context *structpb.Struct
	// Conditions and Results are what the composite resource and the claim are told.
	Conditions []*fnv1.Condition
	Results    []*fnv1.Result
}

// Resource is a resource that is desired.
type Resource struct {
	// Object is the resource.
	Object encoded.Struct
	// Ready says that it is.
	Ready bool
}

func (r Resource) message(object func(encoded.Struct) *structpb.Struct) *fnv1.Resource {
	ready := fnv1.Ready_READY_FALSE
	if r.Ready {
		ready = fnv1.Ready_READY_TRUE
	}
	return &fnv1.Resource{Resource: object(r.Object), Ready: ready}
}

// Message is the response as a message.
func (r *Response) Message() *fnv1.RunFunctionResponse { return r.message(encoded.Struct.Tree) }

func (r *Response) message(object func(encoded.Struct) *structpb.Struct) *fnv1.RunFunctionResponse {
	m := &fnv1.RunFunctionResponse{
		Meta:       &fnv1.ResponseMeta{Tag: r.Tag, Ttl: durationpb.New(r.TTL)},
		Context:    r.Context,
		Conditions: r.Conditions,
		Results:    r.Results,
	}
	if len(r.Requirements) > 0 {
		m.Requirements = &fnv1.Requirements{Resources: make(map[string]*fnv1.ResourceSelector, len(r.Requirements))}
		for name, s := range r.Requirements {
			m.Requirements.Resources[name] = s.message()
		}
	}
	if r.Composite == nil {
		return m
	}
	m.Desired = &fnv1.State{
		Composite: r.Composite.message(object),
		Resources: make(map[string]*fnv1.Resource, len(r.Desired)+len(r.Composed)),
	}
	maps.Copy(m.GetDesired().GetResources(), r.Desired)
	for name, resource := range r.Composed {
		m.Desired.Resources[name] = resource.message(object)
	}
	return m
}

// Handle answers a message that Codec read, or any other, for Codec to write. A gRPC handler has to give a message: the Structs in this one
// are bytes, and look empty to all but the protobuf library and Codec.
func Handle(m *fnv1.RunFunctionRequest, response func(*Request) (*Response, error)) (*fnv1.RunFunctionResponse, error) {
	rsp, err := response(RequestOf(m))
	if err != nil {
		return nil, err
	}
	return rsp.message(wrapEncoded), nil
}

// wrapEncoded is a message that holds the bytes of a Struct as unknown fields, which the protobuf library keeps and writes again.
// https://protobuf.dev/programming-guides/proto3/#unknowns
func wrapEncoded(s encoded.Struct) *structpb.Struct {
	out := &structpb.Struct{}
	out.ProtoReflect().SetUnknown([]byte(s[:len(s):len(s)]))
	return out
}

// unwrapEncoded returns the bytes of a sealed message, or else writes those of a message.
func unwrapEncoded(s *structpb.Struct) encoded.Struct {
	if len(s.GetFields()) == 0 {
		return encoded.Struct(s.ProtoReflect().GetUnknown())
	}
	return encoded.Of(s)
}
