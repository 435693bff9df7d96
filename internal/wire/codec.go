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

// Codec is the codec. It holds nothing, and may be used by many goroutines at once.
type Codec struct{}

var _ encoding.CodecV2 = Codec{}

// Register makes every gRPC server and client of this process use the codec in place of gRPC's own for protobuf.
// Call it first thing in main: registering is not safe once something is served or dialled.
func Register() {
	encoding.RegisterCodecV2(Codec{})
}

// Name is "proto", the name of the codec that it replaces.
func (Codec) Name() string { return grpcproto.Name }

// Marshal writes a protobuf message; a RunFunctionResponse as MarshalResponse does. The same message gives the same
// bytes. It is an error if v is no protobuf message or has text that is not UTF-8.
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

// Unmarshal reads a protobuf message; a RunFunctionRequest as UnmarshalRequest does. It is an error if v is no protobuf
// message or the data are not one.
func (Codec) Unmarshal(data mem.BufferSlice, v any) (err error) {
	defer guard(&err)
	switch m := messageOf(v).(type) {
	case nil:
		return fmt.Errorf("cannot unmarshal into a %T: it is no protobuf message", v)
	case *fnv1.RunFunctionRequest:
		err = UnmarshalRequest(data.Materialize(), m) // A copy: gRPC takes its buffers back.
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

// guard makes an error of a panic. gRPC calls a codec outside of every handler and interceptor: a panic would end the process, and
// every other call with it.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("cannot read or write a message: %v; this is a bug of the codec", r)
	}
}

// messageOf is v as a message, or nil if it is none.
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
