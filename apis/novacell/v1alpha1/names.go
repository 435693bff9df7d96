package v1alpha1

import (
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
)

// GroupVersionKind is the one that a Nova makes of each cell.
var GroupVersionKind = novav1.GroupVersion.WithKind("NovaCell")

// Name is that of the composite resource of a Nova's cell, and begins the names of all its objects.
func Name(nova, cell string) string { return nova + "-" + cell }
