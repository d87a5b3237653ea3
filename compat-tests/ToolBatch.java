import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs many of Kafka's tools one after another in one JVM, so that a comparison pays for one start.
 *
 * Both directions are big-endian frames. A request: int count, then count strings (class, stdin, arguments...).
 * An answer: int exit code, stdout, stderr. A string or a stream: int length, then bytes (UTF-8). The exit code is
 * -1 for a run that was still going after two minutes. End of input ends the JVM.
 */
public class ToolBatch {
    private static final long LIMIT_SECONDS = 120;

    public static void main(String[] args) throws Exception {
        DataInputStream in = new DataInputStream(System.in);
        DataOutputStream out = new DataOutputStream(System.out);
        while (true) {
            int count;
            try {
                count = in.readInt();
            } catch (EOFException e) {
                Runtime.getRuntime().halt(0);
                return;
            }
            String className = readString(in);
            byte[] stdin = readString(in).getBytes(StandardCharsets.UTF_8);
            String[] toolArgs = new String[count - 2];
            for (int i = 0; i < toolArgs.length; i++) {
                toolArgs[i] = readString(in);
            }
            run(className, stdin, toolArgs, out);
            out.flush();
        }
    }

    private static void run(String className, byte[] stdin, String[] args, DataOutputStream answer) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        System.setIn(new ByteArrayInputStream(stdin));
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));

        AtomicInteger code = new AtomicInteger(-1);
        CountDownLatch ended = new CountDownLatch(1);
        List<Runnable> hooks = new CopyOnWriteArrayList<>();
        // An exit must not return to the tool, nor throw (tools catch everything): its thread waits for the end of the JVM.
        Exit.Procedure exit = (status, message) -> {
            code.compareAndSet(-1, status);
            ended.countDown();
            while (true) {
                try {
                    Thread.sleep(Long.MAX_VALUE);
                } catch (InterruptedException ignored) {
                    // stay until the JVM goes
                }
            }
        };
        Exit.setExitProcedure(exit);
        Exit.setHaltProcedure(exit);
        Exit.setShutdownHookAdder((name, hook) -> hooks.add(hook));

        Thread tool = new Thread(() -> {
            int status = 0;
            try {
                Class.forName(className).getMethod("main", String[].class).invoke(null, (Object) args);
            } catch (InvocationTargetException e) {
                System.err.print("Exception in thread \"main\" ");
                e.getCause().printStackTrace();
                status = 1;
            } catch (ReflectiveOperationException e) {
                e.printStackTrace();
                status = 1;
            }
            code.compareAndSet(-1, status);
            ended.countDown();
        }, "tool");
        tool.setDaemon(true);
        tool.start();
        if (ended.await(LIMIT_SECONDS, TimeUnit.SECONDS)) {
            for (Runnable hook : hooks) {
                Thread t = new Thread(hook, "hook");
                t.setDaemon(true);
                t.start();
                t.join(TimeUnit.SECONDS.toMillis(30));
            }
        }
        System.out.flush();
        System.err.flush();
        answer.writeInt(code.get());
        writeBytes(answer, out.toByteArray());
        writeBytes(answer, err.toByteArray());
    }

    private static String readString(DataInputStream in) throws IOException {
        byte[] b = new byte[in.readInt()];
        in.readFully(b);
        return new String(b, StandardCharsets.UTF_8);
    }

    private static void writeBytes(DataOutputStream out, byte[] b) throws IOException {
        out.writeInt(b.length);
        out.write(b);
    }
}
