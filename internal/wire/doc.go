// Package wire is the protobuf codec of the function's gRPC server. It leaves undone what costs most and is seldom
// needed, and does by hand what the general code does slowly:
//
//   - A request's observed composed resources stay bytes, sealed as package encoded says. They are most of a request, and a
//     function reads few of their fields. Everything else is decoded as usual.
//   - A response's desired composed resources, sealed or not, are written by a marshaller that knows only
//     google.protobuf.Struct. Its bytes depend on nothing but the message: the keys of maps are sorted.
//
// Every other message is left to the protobuf library.
//
// It relies on two laws of the encoding: an unknown field is kept and written again, and the concatenation of two
// encoded messages is their merge. https://protobuf.dev/programming-guides/encoding/#last-one-wins
package wire
