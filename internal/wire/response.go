package wire

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

var deterministic = proto.MarshalOptions{Deterministic: true}

// writer writes messages with Structs.
type writer struct{ *encoded.Writer }

// MarshalResponse encodes a response: its desired composed resources with this package, the rest with the protobuf library.
// The encoding is deterministic and does not depend on the order in which maps were filled.
//
// It returns an error if the response contains text that is not UTF-8.
func MarshalResponse(rsp *fnv1.RunFunctionResponse) ([]byte, error) {
	desired := rsp.GetDesired()
	if len(desired.GetResources()) == 0 {
		return deterministic.Marshal(rsp)
	}
	w := writer{encoded.NewWriter()}
	defer w.Free()

	state := w.Written()
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(desired.GetResources()))) {
		if err := w.desired(name, desired.GetResources()[name]); err != nil {
			return nil, fmt.Errorf("desired.resources[%q]: %w", name, err)
		}
	}
	if err := w.rest(desired, stateResources); err != nil {
		return nil, fmt.Errorf("desired: %w", err)
	}
	w.WriteHeader(responseDesired, state)
	if err := w.rest(rsp, responseDesired); err != nil {
		return nil, err
	}
	return w.Struct(), nil
}

// desired writes an entry of the map of desired composed resources.
func (w writer) desired(name string, r *fnv1.Resource) error {
	entry := w.Written()
	if ready, all := readiness(r); all {
		w.Raw(ready)
	} else if err := w.rest(r, resourceResource); err != nil {
		return err
	}
	if s := r.GetResource(); s != nil {
		resource := w.Written()
		w.Object(s)
		w.WriteHeader(resourceResource, resource)
	}
	w.WriteHeader(entryValue, entry)
	w.Text(entryKey, name)
	w.WriteHeader(stateResources, entry)
	if w.BadText || !utf8.ValidString(name) {
		return errors.New("it has text that is not valid UTF-8")
	}
	return nil
}

// readiness returns the encoded readiness of a resource. all is true if the resource has no other fields, which is the
// common case.
func readiness(r *fnv1.Resource) (encoded []byte, all bool) {
	v := r.GetReady()
	if len(r.GetConnectionDetails()) > 0 || len(r.ProtoReflect().GetUnknown()) > 0 || v < 0 || v >= 1<<7 {
		return nil, false
	}
	if v == fnv1.Ready_READY_UNSPECIFIED {
		return nil, true
	}
	return protowire.AppendVarint(protowire.AppendTag(nil, resourceReady, protowire.VarintType), uint64(v)), true
}

// rest writes a message without one of its fields. The protobuf library encodes the other fields, including fields of later
// versions of the message's definition.
func (w writer) rest(m proto.Message, but protowire.Number) error {
	src := m.ProtoReflect()
	dst := src.New()
	src.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Number() != but {
			dst.Set(f, v)
		}
		return true
	})
	dst.SetUnknown(src.GetUnknown())
	b, err := deterministic.Marshal(dst.Interface())
	if err != nil {
		return err
	}
	w.Raw(b)
	return nil
}
