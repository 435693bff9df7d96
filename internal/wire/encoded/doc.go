// Package encoded stores protobuf Structs in the encoding in which they are received and sent. An object is encoded once,
// and then hashed, wrapped, compared and sent without decoding it; when it is read, only the requested fields are decoded.
package encoded
