package credentialrotation

import (
	"io"
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

func TestMain(m *testing.M) {
	// A history has hundreds of passes; 100 are rapid's default.
	if err := effort.Histories(5, 100); err != nil {
		panic(err)
	}
	log.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	os.Exit(m.Run())
}
