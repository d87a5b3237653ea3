package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// notifySignals delivers what ends a tool that runs until it is stopped. Call stop when done. It also keeps a closed
// stdout from killing the process, so that the tool sees the error and ends in order.
func notifySignals() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	return c, func() {
		signal.Stop(c)
		signal.Stop(pipe)
	}
}

// signalCode is the exit code of a process that a signal ended.
func signalCode(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return 1
}

// isTerminal reports whether a reader or writer is a character device, which is a terminal in all cases that matter.
func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
