package conflict_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/conflict"
)

func TestAgain(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	result := reconcile.Result{RequeueAfter: time.Hour}
	cases := map[string]struct {
		reason string
		err    error
		want   reconcile.Result
		failed bool
	}{
		"Good":     {"Nothing went wrong.", nil, result, false},
		"Conflict": {"Somebody changed it, which is no failure, however it is wrapped.", fmt.Errorf("cannot write: %w", apierrors.NewConflict(secrets, "a", nil)), reconcile.Result{RequeueAfter: conflict.AtOnce}, false},
		"Exists":   {"Somebody made it.", apierrors.NewAlreadyExists(secrets, "a"), reconcile.Result{RequeueAfter: conflict.AtOnce}, false},
		"Missing":  {"Other answers of the API are failures.", apierrors.NewNotFound(secrets, "a"), reconcile.Result{}, true},
		"Other":    {"So is everything else.", errors.New("broken"), reconcile.Result{}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := conflict.Again(t.Context(), result, tc.err)
			if got != tc.want || (err != nil) != tc.failed {
				t.Errorf("%s\nAgain(...) = %v, %v, want %v, failed %t", tc.reason, got, err, tc.want, tc.failed)
			}
		})
	}
}
