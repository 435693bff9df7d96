// Package encoded holds protobuf Structs as bytes, the form in which they arrive and leave. An object that is written once is
// hashed, wrapped, compared and sent as it is, and one that is read gives up the few fields that are asked for.
package encoded
