package wire

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

var deterministic = proto.MarshalOptions{Deterministic: true}

// MarshalResponse writes a response: its desired composed resources by hand, the rest by the protobuf library. The same
// message gives the same bytes, whatever the order in which its maps were filled.
//
// It is an error if the response has text that is not UTF-8.
func MarshalResponse(rsp *fnv1.RunFunctionResponse) ([]byte, error) {
	desired := rsp.GetDesired()
	if len(desired.GetResources()) == 0 {
		return deterministic.Marshal(rsp)
	}
	w := newWriter()
	defer w.free()

	state := w.written()
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(desired.GetResources()))) {
		if err := w.desired(name, desired.GetResources()[name]); err != nil {
			return nil, fmt.Errorf("desired.resources[%q]: %w", name, err)
		}
	}
	if err := w.rest(desired, stateResources); err != nil {
		return nil, fmt.Errorf("desired: %w", err)
	}
	w.begin(responseDesired, state)
	if err := w.rest(rsp, responseDesired); err != nil {
		return nil, err
	}
	return slices.Clone(w.bytes()), nil
}

// desired writes an entry of the map of desired composed resources.
func (w *writer) desired(name string, r *fnv1.Resource) error {
	entry := w.written()
	if err := w.rest(r, resourceResource); err != nil {
		return err
	}
	if s := r.GetResource(); s != nil {
		resource := w.written()
		w.object(s)
		w.begin(resourceResource, resource)
	}
	w.begin(entryValue, entry)
	w.text(entryKey, name)
	w.begin(stateResources, entry)
	if w.badText {
		return errors.New("it has text that is not valid UTF-8")
	}
	return nil
}

// rest writes a message without one of its fields. Whatever else the message has, today or in a later version of its
// definition, is written by the protobuf library.
func (w *writer) rest(m proto.Message, but protowire.Number) error {
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
	copy(w.room(len(b)), b)
	return nil
}
