// Package kube groups the builders of Kubernetes objects: pods and Services of this project, and custom resources of operators.
// They are pure: options in, objects out.
package kube
