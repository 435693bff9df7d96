// Package neutron tests a real Neutron with real databases of OVN.
package neutron
