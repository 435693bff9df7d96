// Package wire is what a function is asked and answers, its objects as encoded Structs, and the protobuf codec of the function's gRPC
// server. The codec leaves undone what costs most and is seldom
// needed, and does by hand what the general code does slowly:
//
//   - A request's observed composed resources stay bytes. They are most of a request, and a function reads few of their fields.
//     Everything else is decoded as usual.
//   - A response's desired composed resources, bytes or not, are written by a marshaller that knows only
//     google.protobuf.Struct. Its bytes depend on nothing but the message: the keys of maps are sorted.
//
// Every other message is left to the protobuf library.
//
// gRPC hands over messages, in which a Struct that stays bytes is sealed: it has its bytes as unknown fields, and none to read. Nobody
// else sees one: RequestOf and Handle are next to the codec.
//
// It relies on two laws of the encoding: an unknown field is kept and written again, and the concatenation of two
// encoded messages is their merge. https://protobuf.dev/programming-guides/encoding/#last-one-wins
package wire
