package cli

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// patience is how long a tool that was told to end has before the next signal ends the process at once. timeout(1) sends
// its signal twice, so it cannot be zero.
const patience = time.Second

// notifySignals delivers the first signal that is to end a tool which runs until it is stopped. Call stop when done. It
// also keeps a closed stdout from killing the process, so that the tool sees the error and ends in order.
func notifySignals() (first <-chan os.Signal, stop func()) {
	c, out, done := make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	go func() {
		select {
		case s := <-c:
			out <- s
		case <-done:
			return
		}
		select {
		case <-time.After(patience):
			signal.Stop(c) // from here on a signal does what it does by default
		case <-done:
		}
	}()
	return out, func() {
		close(done)
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
