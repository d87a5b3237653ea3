package vfs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/vfs"
)

// each runs a test on both implementations, below a directory of its own.
func each(t *testing.T, f func(t *testing.T, fsys vfs.FS, dir string)) {
	t.Run("os", func(t *testing.T) { f(t, vfs.OS(), t.TempDir()) })
	t.Run("mem", func(t *testing.T) {
		m := vfs.NewMem()
		must(t, m.MkdirAll("/a/b"))
		f(t, m, "/a/b")
	})
	t.Run("crashable", func(t *testing.T) {
		m := vfs.NewCrashable()
		must(t, m.MkdirAll("/a/b"))
		f(t, m, "/a/b")
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, fsys vfs.FS, name, text string) {
	t.Helper()
	f, err := fsys.Create(name)
	must(t, err)
	_, err = f.WriteAt([]byte(text), 0)
	must(t, err)
	must(t, f.Close())
}

func read(t *testing.T, fsys vfs.FS, name string) string {
	t.Helper()
	f, err := fsys.OpenRead(name)
	must(t, err)
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
	must(t, err)
	return string(b)
}

func TestNames(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		p := func(s string) string { return filepath.Join(dir, s) }
		_, err := fsys.Open(p("x"))
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("open of nothing: %v", err)
		}
		write(t, fsys, p("x"), "one")
		write(t, fsys, p("y"), "two")
		must(t, fsys.Rename(p("x"), p("y")))
		if got := read(t, fsys, p("y")); got != "one" {
			t.Errorf("after rename over: %q", got)
		}
		if err := fsys.Mkdir(p("d")); err != nil {
			t.Error(err)
		}
		if err := fsys.Mkdir(p("d")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("mkdir twice: %v", err)
		}
		write(t, fsys, p("d/z"), "12345")
		if err := fsys.Remove(p("d")); err == nil {
			t.Error("removed a directory with a file in it")
		}
		must(t, fsys.Rename(p("d"), p("e")))
		list, err := fsys.List(dir)
		must(t, err)
		if len(list) != 2 || list[0].Name != "e" || !list[0].Dir || list[1].Name != "y" || list[1].Size != 3 {
			t.Errorf("list: %+v", list)
		}
		must(t, fsys.RemoveAll(p("e")))
		must(t, fsys.RemoveAll(p("e")))
		if _, err := fsys.Stat(p("e")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("stat of nothing: %v", err)
		}
		must(t, fsys.SyncDir(dir))
	})
}

func TestOpenFileOutlivesItsName(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		name := filepath.Join(dir, "x")
		write(t, fsys, name, "kept")
		f, err := fsys.OpenRead(name)
		must(t, err)
		must(t, fsys.Remove(name))
		b := make([]byte, 4)
		if _, err := f.ReadAt(b, 0); err != nil || string(b) != "kept" {
			t.Errorf("%q %v", b, err)
		}
		if _, err := f.WriteAt(b, 0); err == nil {
			t.Error("wrote to a file opened for reading")
		}
		must(t, f.Close())
	})
}

func TestLockAndTime(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		name := filepath.Join(dir, ".lock")
		l, err := fsys.Lock(name)
		must(t, err)
		if _, err := fsys.Lock(name); !errors.Is(err, vfs.ErrLocked) {
			t.Errorf("second lock: %v", err)
		}
		must(t, l.Close())
		l, err = fsys.Lock(name)
		must(t, err)
		must(t, l.Close())
		when := time.UnixMilli(1700000000000)
		must(t, fsys.SetModTime(name, when))
		if i, err := fsys.Stat(name); err != nil || !i.ModTime.Equal(when) {
			t.Errorf("%v %v", i.ModTime, err)
		}
		if total, free, err := fsys.Usage(dir); err != nil || total <= 0 || free <= 0 || free > total {
			t.Errorf("usage: %d of %d, %v", free, total, err)
		}
	})
}

// TestContentAgainstBytes writes, truncates and reads at random, next to a plain slice.
func TestContentAgainstBytes(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		rng := rand.New(rand.NewPCG(1, 2))
		f, err := fsys.Create(filepath.Join(dir, "x"))
		must(t, err)
		defer f.Close()
		var want []byte
		for range 400 {
			switch rng.IntN(5) {
			case 0:
				size := rng.IntN(300_000)
				must(t, f.Truncate(int64(size)))
				want = append(want, make([]byte, max(0, size-len(want)))...)[:size]
			case 1:
				must(t, f.Sync())
			default:
				p := make([]byte, rng.IntN(100_000))
				for i := range p {
					p[i] = byte(rng.Uint32())
				}
				off := rng.IntN(200_000)
				if rng.IntN(2) == 0 {
					off = len(want)
				}
				_, err := f.WriteAt(p, int64(off))
				must(t, err)
				if len(p) > 0 {
					want = append(want, make([]byte, max(0, off+len(p)-len(want)))...)
				}
				copy(want[min(off, len(want)):], p)
			}
			if len(want) > 500_000 {
				must(t, f.Truncate(0))
				want = want[:0]
			}
			got := make([]byte, len(want)+10)
			n, err := f.ReadAt(got, 0)
			if err != io.EOF || !bytes.Equal(got[:n], want) {
				t.Fatalf("%d bytes, want %d; %v", n, len(want), err)
			}
		}
	})
}

func TestCrashKeepsWhatWasSynced(t *testing.T) {
	outcomes := map[string]bool{}
	for seed := range uint64(200) {
		m := vfs.NewCrashable()
		must(t, m.Mkdir("d"))
		must(t, m.SyncDir("/"))
		f, err := m.Create("d/f")
		must(t, err)
		_, err = f.WriteAt([]byte("synced"), 0)
		must(t, err)
		must(t, f.Sync())
		must(t, m.SyncDir("d"))
		_, err = f.WriteAt([]byte("+more"), 6)
		must(t, err)
		write(t, m, "d/tmp", "renamed")
		must(t, m.Rename("d/tmp", "d/g"))

		c := m.Crash(rand.New(rand.NewPCG(seed, 0)))
		got := read(t, c, "d/f")
		if len(got) < 6 || got[:6] != "synced" {
			t.Fatalf("seed %d: %q", seed, got)
		}
		outcomes[got] = true
		list, err := c.List("d")
		must(t, err)
		for _, e := range list {
			outcomes[e.Name] = true
		}
		if read(t, m, "d/f") != "synced+more" || read(t, m, "d/g") != "renamed" {
			t.Fatal("the crash touched the original")
		}
		write(t, c, "d/f", "SYNCED")
		if read(t, m, "d/f") != "synced+more" {
			t.Fatal("the clone shares bytes with the original")
		}
	}
	for _, want := range []string{"synced", "synced+more", "synced\x00\x00\x00\x00\x00", "tmp", "g"} {
		if !outcomes[want] {
			t.Errorf("no crash left %q", want)
		}
	}
}

func TestFaults(t *testing.T) {
	m := vfs.NewMem()
	f, err := m.Create("x")
	must(t, err)
	m.FailAt(2, syscall.EIO, false)
	_, err = f.WriteAt([]byte("ab"), 0)
	must(t, err)
	if n, err := f.WriteAt([]byte("cdef"), 2); n != 2 || !errors.Is(err, syscall.EIO) {
		t.Errorf("%d %v", n, err)
	}
	_, err = f.WriteAt([]byte("ghij"), 2)
	must(t, err)
	m.FailAt(1, syscall.EIO, true)
	for range 3 {
		if err := f.Sync(); !errors.Is(err, syscall.EIO) {
			t.Error(err)
		}
	}
	m.SetHook(nil)
	m.SetCapacity(8)
	if _, err := f.WriteAt([]byte("0123456789"), 0); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	_, err = f.WriteAt([]byte("01234567"), 0)
	must(t, err)
	must(t, m.Remove("x"))
	write(t, m, "y", "01234567")
}

func BenchmarkMemAppend(b *testing.B) {
	m := vfs.NewMem()
	f, err := m.Create("x")
	if err != nil {
		b.Fatal(err)
	}
	p := make([]byte, 1024)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for i := range b.N {
		if _, err := f.WriteAt(p, int64(i%100_000)*int64(len(p))); err != nil {
			b.Fatal(err)
		}
	}
}
