// Package keys is the state machine of a key repository as Keystone defines it: a map of index to Fernet key, in which 0 is
// staged (the next primary), the highest is primary (it encrypts), and the others are secondary. All of them decrypt.
//
// A rotation makes the staged key the primary, stages a new one and purges the lowest. The next primary was therefore
// distributed one rotation earlier, and a reader that is one rotation behind decrypts what the others encrypt, and they what it
// encrypts. A reader that is two behind does not: between two rotations, every reader has to have got the first.
//
// https://docs.openstack.org/keystone/latest/admin/fernet-token-faq.html
package keys
