package v1alpha1

import (
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
)

// GroupVersionKind of the composite resource that a Nova creates for each cell.
var GroupVersionKind = novav1.GroupVersion.WithKind("NovaCell")

// Name returns the name of the composite resource of a Nova's cell, which is the prefix of the names of all its objects.
func Name(nova, cell string) string { return nova + "-" + cell }

// VNCIssuer returns the name of the issuer of certificates for VNC between the console proxies and the hypervisors of the cell with this
// name.
func VNCIssuer(name string) string { return name + "-vnc-ca" }
