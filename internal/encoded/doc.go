// Package encoded holds protobuf Structs as bytes, the form in which they arrive and leave. An object that is written once is
// hashed, wrapped, compared and sent as it is, and one that is read gives up the few fields that are asked for.
//
// Where a *structpb.Struct is called for, Seal makes one of bytes. It is a message like any other to the protobuf library,
// which keeps and writes unknown fields, but it has no fields to read: Open makes a tree of it again.
//
// https://protobuf.dev/programming-guides/proto3/#unknowns
package encoded
