package wire

import (
	"maps"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Request contains the parts of a request from Crossplane that our functions read. They do not retain the
// observed objects.
type Request struct {
	// Tag of the request, which the response repeats.
	Tag string
	// Composite is the observed composite resource.
	Composite *structpb.Struct
	// Observed contains the observed composed resources by resource name.
	Observed map[string]encoded.Struct
	// Required contains the resources that the Composition or the function required, by requirement name. A missing name
	// was not required; an empty list was required and does not exist.
	Required map[string][]*structpb.Struct
	// Desired contains the desired resources of earlier steps of the pipeline, Context their context.
	Desired map[string]*fnv1.Resource
	Context *structpb.Struct
}

// RequestOf converts a message. The result shares memory with it.
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

// Selector selects one required resource, in a namespace or, if it is empty, in the whole cluster.
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

// Response contains the response of a function.
type Response struct {
	// Tag of the request. TTL is the time after which Crossplane calls again without an event.
	Tag string
	TTL time.Duration
	// Requirements are the resources that the function requires, by requirement name, in addition to the Composition's.
	// Crossplane calls again with these resources until two consecutive responses have the same requirements, and only uses
	// the last response.
	Requirements map[string]Selector
	// Composite is the composite resource, with only its status. Nil: nothing is desired.
	Composite *Resource
	// Composed contains the desired composed resources by resource name.
	Composed map[string]Resource
	// Desired contains the desired resources of earlier steps of the pipeline, Context their context.
	Desired map[string]*fnv1.Resource
	Context *structpb.Struct
	// Conditions and Results are set on the composite resource and the claim.
	Conditions []*fnv1.Condition
	Results    []*fnv1.Result
}

// Resource is a desired resource.
type Resource struct {
	// Object is the encoded resource.
	Object encoded.Struct
	// Ready is true if the resource is ready.
	Ready bool
}

func (r Resource) message(object func(encoded.Struct) *structpb.Struct) *fnv1.Resource {
	ready := fnv1.Ready_READY_FALSE
	if r.Ready {
		ready = fnv1.Ready_READY_TRUE
	}
	return &fnv1.Resource{Resource: object(r.Object), Ready: ready}
}

// Message returns the response as a message.
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

// Handle calls response with a request that was read by Codec or created otherwise, and returns a message for Codec. A gRPC
// handler must return a message: the Structs in this one are encoded, and look empty to all code but the protobuf library
// and Codec.
func Handle(m *fnv1.RunFunctionRequest, response func(*Request) (*Response, error)) (*fnv1.RunFunctionResponse, error) {
	rsp, err := response(RequestOf(m))
	if err != nil {
		return nil, err
	}
	return rsp.message(wrapEncoded), nil
}

// wrapEncoded returns a message that contains the bytes of a Struct as unknown fields, which the protobuf library keeps and
// writes again. https://protobuf.dev/programming-guides/proto3/#unknowns
func wrapEncoded(s encoded.Struct) *structpb.Struct {
	out := &structpb.Struct{}
	out.ProtoReflect().SetUnknown([]byte(s[:len(s):len(s)]))
	return out
}

// unwrapEncoded returns the bytes of a message from wrapEncoded, or encodes another message.
func unwrapEncoded(s *structpb.Struct) encoded.Struct {
	if len(s.GetFields()) == 0 {
		return encoded.Struct(s.ProtoReflect().GetUnknown())
	}
	return encoded.Of(s)
}
