package wire

import (
	"errors"
	"fmt"
	"unicode/utf8"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Field numbers in Crossplane's run_function.proto, and in any protobuf map.
const (
	requestObserved  = protowire.Number(2)
	responseDesired  = protowire.Number(2)
	stateResources   = protowire.Number(2)
	resourceResource = protowire.Number(1)
	resourceReady    = protowire.Number(3)
	entryKey         = protowire.Number(1)
	entryValue       = protowire.Number(2)
)

var merge = proto.UnmarshalOptions{Merge: true}

// UnmarshalRequest decodes a request, but leaves each observed composed resource encoded and unchecked: see RequestOf. The
// message can be cloned and marshalled like any other. It keeps a reference to b, which must not be changed afterwards.
//
// It returns an error if a decoded part is malformed.
func UnmarshalRequest(b []byte, req *fnv1.RunFunctionRequest) error {
	proto.Reset(req)
	return mergeExcept(req, b, requestObserved, func(_, state []byte) error {
		if req.GetObserved() == nil {
			req.Observed = &fnv1.State{}
		}
		err := mergeExcept(req.GetObserved(), state, stateResources, func(_, entry []byte) error {
			return mergeObserved(req.GetObserved(), entry)
		})
		if err != nil {
			return fmt.Errorf("observed: %w", err)
		}
		return nil
	})
}

// mergeObserved adds an entry of the map of observed composed resources. A later entry replaces an earlier one with the
// same name, as in any protobuf map.
func mergeObserved(s *fnv1.State, entry []byte) error {
	key, resource, err := encoded.Entry(entry)
	if err == nil && !utf8.Valid(key) {
		err = errors.New("a name is not valid UTF-8")
	}
	if err != nil {
		return fmt.Errorf("resources: %w", err)
	}
	name := string(key)
	r := &fnv1.Resource{}
	var raw []byte
	found := false
	err = mergeExcept(r, resource, resourceResource, func(_, value []byte) error {
		raw, found = encoded.Join(raw, value), true
		return nil
	})
	if err != nil {
		return fmt.Errorf("resources[%q]: %w", name, err)
	}
	if found {
		r.Resource = wrapEncoded(raw)
	}
	if s.Resources == nil {
		s.Resources = map[string]*fnv1.Resource{}
	}
	s.Resources[name] = r
	return nil
}

// mergeExcept merges the encoded message b into m, except for fields with number except that contain bytes. For these, it
// calls take with the whole field and its value.
func mergeExcept(m proto.Message, b []byte, except protowire.Number, take func(field, value []byte) error) error {
	start := 0 // Start of the bytes that are not merged yet.
	for at := 0; at < len(b); {
		num, typ, tag := protowire.ConsumeTag(b[at:])
		if tag < 0 {
			return protowire.ParseError(tag)
		}
		size := protowire.ConsumeFieldValue(num, typ, b[at+tag:])
		if size < 0 {
			return protowire.ParseError(size)
		}
		end := at + tag + size
		if num == except && typ == protowire.BytesType {
			if err := mergePart(m, b[start:at]); err != nil {
				return err
			}
			value, _ := protowire.ConsumeBytes(b[at+tag : end])
			if err := take(b[at:end:end], value[:len(value):len(value)]); err != nil {
				return err
			}
			start = end
		}
		at = end
	}
	return mergePart(m, b[start:])
}

func mergePart(m proto.Message, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return merge.Unmarshal(b, m)
}
