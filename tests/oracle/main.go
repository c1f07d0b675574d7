// Command oracle asks the real kube-scheduler code what it would do.
//
// It reads one case a line on standard input and prints one answer a line on standard output. The types testCase and
// answer describe both; README.md explains them.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
)

func main() {
	limit := flag.Int("schedule", 0, "place at most `N` pods of a sequence; 0 means all")
	gates := flag.String("feature-gates", "", "feature `GATES` for all cases, as kube-scheduler takes them")
	flag.Parse()
	silence()
	if err := utilfeature.DefaultMutableFeatureGate.Set(*gates); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
	if err := run(os.Stdin, os.Stdout, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// silence turns the scheduler's log off.
func silence() {
	flags := flag.NewFlagSet("", flag.PanicOnError)
	klog.InitFlags(flags)
	_ = flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(io.Discard)
}

// run answers the cases of in, in their order.
func run(in io.Reader, out io.Writer, limit int) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for number := 1; ; number++ {
		line, readErr := lines.ReadBytes('\n')
		if len(line) > 1 {
			var tc testCase
			if err := json.Unmarshal(line, &tc); err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
			if err := enc.Encode(guarded(&tc, limit)); err != nil {
				return err
			}
			if err := w.Flush(); err != nil {
				return err
			}
		}
		if errors.Is(readErr, io.EOF) {
			return nil
		}
		if readErr != nil {
			return readErr
		}
	}
}

// guarded answers a case, and turns a panic of the scheduler into an error.
func guarded(tc *testCase, limit int) (out *answer) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(os.Stderr, "case %s: panic: %v\n%s", tc.ID, r, debug.Stack())
			out = &answer{ID: tc.ID, Family: tc.Family, Error: fmt.Sprintf("panic: %v", r)}
		}
	}()
	return answerCase(tc, limit)
}
