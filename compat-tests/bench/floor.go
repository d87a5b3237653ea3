package main

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const floorFrame = 1 << 20

// serveFloor receives frames into a file (a 4 byte length, then the bytes; it
// answers 4 bytes) and, on a frame of length 0, sends the file back by sendfile.
func serveFloor(addr, path string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		if err := floorConn(c.(*net.TCPConn), f); err != nil && err != io.EOF {
			return err
		}
	}
}

func floorConn(c *net.TCPConn, f *os.File) error {
	defer c.Close()
	buf := make([]byte, floorFrame)
	for {
		if _, err := io.ReadFull(c, buf[:4]); err != nil {
			return err
		}
		n := binary.BigEndian.Uint32(buf)
		if n == 0 {
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return err
			}
			_, err := io.Copy(c, f) // sendfile on Linux
			return err
		}
		if _, err := io.ReadFull(c, buf[:n]); err != nil {
			return err
		}
		if _, err := f.Write(buf[:n]); err != nil {
			return err
		}
		if _, err := c.Write(buf[:4]); err != nil {
			return err
		}
	}
}

func measureFloor(o options, dir string, res *results) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	addr := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String()
	cmd := exec.Command(self, "serve-floor", addr, filepath.Join(dir, "file"))
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	var c net.Conn
	for range 1000 {
		if c, err = net.Dial("tcp", addr); err == nil {
			break
		}
		time.Sleep(time.Millisecond) // until it listens
	}
	if err != nil {
		return err
	}
	defer c.Close()
	frame := make([]byte, 4+floorFrame)
	binary.BigEndian.PutUint32(frame, floorFrame)
	gb := float64(o.mb) * floorFrame / 1e9
	cpu, start := cpuOf(cmd.Process.Pid), time.Now()
	for range o.mb {
		if _, err := c.Write(frame); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, frame[:4]); err != nil {
			return err
		}
		binary.BigEndian.PutUint32(frame, floorFrame)
	}
	res.add("produce 1024 B records, MB/s", "floor", gb*1000/time.Since(start).Seconds())
	res.add("produce 1024 B records, broker CPU s/GB", "floor", (cpuOf(cmd.Process.Pid)-cpu).Seconds()/gb)
	cpu, start = cpuOf(cmd.Process.Pid), time.Now()
	if _, err := c.Write(make([]byte, 4)); err != nil {
		return err
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, floorFrame)); err != nil {
		return err
	}
	res.add("consume 1024 B records, MB/s", "floor", gb*1000/time.Since(start).Seconds())
	res.add("consume 1024 B records, broker CPU s/GB", "floor", (cpuOf(cmd.Process.Pid)-cpu).Seconds()/gb)
	return nil
}
