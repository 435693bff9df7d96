// Package keys implements the state machine of a key repository as Keystone defines it: a map of index to Fernet key, in
// which 0 is staged (the next primary), the highest index is primary (it encrypts), and the others are secondary. All of them
// decrypt.
//
// A rotation makes the staged key the primary, stages a new one and purges the lowest. The next primary was therefore
// distributed one rotation earlier: a reader that is one rotation behind can decrypt data of the others, and the others its
// data. A reader that is two rotations behind cannot: between two rotations, all readers must have received the first.
//
// https://docs.openstack.org/keystone/latest/admin/fernet-token-faq.html
package keys
