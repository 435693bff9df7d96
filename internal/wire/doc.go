// Package wire contains the request and the response of a function, with encoded Structs as objects, and the protobuf codec
// of the function's gRPC server. The codec omits expensive work that is rarely needed, and implements by hand parts for
// which the protobuf library is slow:
//
//   - The observed composed resources of a request stay encoded. They are most of a request, and a function reads few of their fields.
//     Everything else is decoded as usual.
//   - The desired composed resources of a response, encoded or not, are written by a marshaller that only supports
//     google.protobuf.Struct. Its output is deterministic: the keys of maps are sorted.
//
// All other messages are handled by the protobuf library.
//
// gRPC passes messages. An encoded Struct is wrapped in a message: its bytes are unknown fields, and it has no other
// fields. Only RequestOf and Handle, which are next to the codec, handle such messages.
//
// The codec relies on two properties of the encoding: unknown fields are kept and written again, and the concatenation of
// two encoded messages is their merge. https://protobuf.dev/programming-guides/encoding/#last-one-wins
package wire
