// Package event records Kubernetes Events.
package event

import (
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// Types of an Event.
const (
	Normal  = corev1.EventTypeNormal
	Warning = corev1.EventTypeWarning
)

// limit of a note, in bytes: NoteLengthLimit of k8s.io/kubernetes/pkg/apis/core/validation, above which the API refuses an Event.
const limit = 1024

// Record records an Event about an object. Reason is one word in CamelCase; a note that is too long is cut.
func Record(recorder events.EventRecorder, about runtime.Object, kind, reason, note string) {
	recorder.Eventf(about, nil, kind, reason, "Reconcile", "%s", Cut(note, limit))
}

// Cut is the beginning of a text, at most so many bytes and whole runes.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
