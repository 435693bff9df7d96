package wire

import (
	"fmt"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
)

// Codec is the codec. It has no state and is safe for concurrent use.
type Codec struct{}

var _ encoding.CodecV2 = Codec{}

// Register replaces gRPC's protobuf codec with this one for all gRPC servers and clients of this process. Call it first in
// main: it is not safe after a server or a connection is started.
func Register() {
	encoding.RegisterCodecV2(Codec{})
}

// Name returns "proto", the name of the codec that it replaces.
func (Codec) Name() string { return grpcproto.Name }

// Marshal encodes a protobuf message; for a RunFunctionResponse, see MarshalResponse. The encoding is deterministic. It
// returns an error if v is not a protobuf message or contains text that is not UTF-8.
func (Codec) Marshal(v any) (_ mem.BufferSlice, err error) {
	defer guard(&err)
	var b []byte
	switch m := messageOf(v).(type) {
	case nil:
		return nil, fmt.Errorf("cannot marshal a %T: it is no protobuf message", v)
	case *fnv1.RunFunctionResponse:
		b, err = MarshalResponse(m)
	default:
		b, err = deterministic.Marshal(m)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot marshal a %T: %w", v, err)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

// Unmarshal decodes a protobuf message; for a RunFunctionRequest, see UnmarshalRequest. It returns an error if v is not a
// protobuf message or the data are malformed.
func (Codec) Unmarshal(data mem.BufferSlice, v any) (err error) {
	defer guard(&err)
	switch m := messageOf(v).(type) {
	case nil:
		return fmt.Errorf("cannot unmarshal into a %T: it is no protobuf message", v)
	case *fnv1.RunFunctionRequest:
		err = UnmarshalRequest(data.Materialize(), m) // A copy, because gRPC reuses its buffers.
	default:
		buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
		defer buf.Free()
		err = proto.Unmarshal(buf.ReadOnlyData(), m)
	}
	if err != nil {
		return fmt.Errorf("cannot unmarshal a %T: %w", v, err)
	}
	return nil
}

// guard converts a panic to an error. gRPC calls a codec outside of all handlers and interceptors, so a panic would
// terminate the process, and all other calls with it.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("cannot read or write a message: %v; this is a bug of the codec", r)
	}
}

// messageOf returns v as a message, or nil if it is none.
func messageOf(v any) proto.Message {
	switch v := v.(type) {
	case proto.Message:
		return v
	case protoadapt.MessageV1:
		return protoadapt.MessageV2Of(v)
	default:
		return nil
	}
}
