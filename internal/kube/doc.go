// Package kube groups the makers of Kubernetes objects: our own pods and Services, and the objects of each operator that we order from.
// They are pure: options in, objects out.
package kube
