import java.lang.reflect.*;
import java.util.*;
import org.apache.kafka.common.protocol.*;
import org.apache.kafka.common.Uuid;
import java.nio.ByteBuffer;

/** Prints messages of Kafka's own classes, filled at random: java -cp "LIBS/*" Vectors.java CLASS... */
public class Vectors {
  static Random rnd;
  static Message top; static short ver;
  static boolean ok() {
    try { ObjectSerializationCache c = new ObjectSerializationCache(); int s = top.size(c, ver);
      ByteBufferAccessor a = new ByteBufferAccessor(ByteBuffer.allocate(s)); top.write(a, c, ver); return true; }
    catch (RuntimeException e) { return false; }
  }
  static Object value(Type t, int depth) throws Exception {
    if (t == boolean.class) return rnd.nextBoolean();
    if (t == byte.class) return (byte) rnd.nextInt();
    if (t == short.class) return (short) rnd.nextInt();
    if (t == int.class) return rnd.nextInt();
    if (t == long.class) return rnd.nextLong();
    if (t == double.class) return rnd.nextDouble() * 1000;
    if (t == String.class) { StringBuilder b = new StringBuilder(); int n = rnd.nextInt(9); for (int i = 0; i < n; i++) b.append((char) (rnd.nextInt(5) == 0 ? 0x100 + rnd.nextInt(500) : 'a' + rnd.nextInt(26))); return b.toString(); }
    if (t == byte[].class) { byte[] b = new byte[rnd.nextInt(6)]; rnd.nextBytes(b); return b; }
    if (t == Uuid.class) return new Uuid(rnd.nextLong(), rnd.nextLong());
    if (t == Byte.class) return (byte) rnd.nextInt();
    if (t == Short.class) return (short) rnd.nextInt();
    if (t == Integer.class) return rnd.nextInt();
    if (t == Long.class) return rnd.nextLong();
    return null;
  }
  static void fill(Object o, int depth) throws Exception {
    for (Field f : o.getClass().getDeclaredFields()) {
      if (Modifier.isStatic(f.getModifiers()) || f.getName().startsWith("_") || f.getName().equals("next") || f.getName().equals("prev")) continue;
      f.setAccessible(true);
      Object old = f.get(o);
      if (rnd.nextInt(6) == 0 && !f.getType().isPrimitive()) { f.set(o, null); if (ok()) continue; f.set(o, old); }
      if (rnd.nextInt(7) == 0) continue;
      Class<?> c = f.getType();
      if (c == int.class && f.getName().toLowerCase().contains("port") ) { f.setInt(o, rnd.nextInt(65536)); if (!ok()) f.set(o, old); continue; }
      if (Collection.class.isAssignableFrom(c)) {
        Collection<Object> list; Type et;
        if (c == List.class) { list = new ArrayList<>(); et = ((ParameterizedType) f.getGenericType()).getActualTypeArguments()[0]; }
        else { list = (Collection<Object>) c.getDeclaredConstructor().newInstance(); et = ((ParameterizedType) c.getGenericSuperclass()).getActualTypeArguments()[0]; }
        f.set(o, list);
        if (!ok()) { f.set(o, old); continue; }
        int n = rnd.nextInt(4);
        for (int i = 0; i < n; i++) {
          Object e = value(et, depth);
          if (e == null) { e = ((Class<?>) et).getDeclaredConstructor().newInstance(); list.add(e); fill(e, depth + 1); }
          else list.add(e);
          if (!ok()) { f.set(o, old); break; }
        }
        if (!ok()) f.set(o, old);
        continue;
      }
      Object v = value(c, depth);
      if (v == null) { v = c.getDeclaredConstructor().newInstance(); f.set(o, v); if (!ok()) { f.set(o, old); continue; } fill(v, depth + 1); }
      else { f.set(o, v); if (!ok()) f.set(o, old); }
    }
  }
  public static void main(String[] args) throws Exception {
    for (String name : args) {
      Class<?> c = Class.forName(name);
      ApiMessage probe = null;
      Message m0 = (Message) c.getDeclaredConstructor().newInstance();
      for (short v = m0.lowestSupportedVersion(); v <= m0.highestSupportedVersion(); v++) for (int seed = 0; seed < 4; seed++) {
        rnd = new Random(name.hashCode() * 31L + v * 7 + seed);
        top = (Message) c.getDeclaredConstructor().newInstance(); ver = v;
        if (seed > 0) fill(top, 0);
        else if (!ok()) continue;
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer b = ByteBuffer.allocate(top.size(cache, v));
        top.write(new ByteBufferAccessor(b), cache, v);
        System.out.println(c.getSimpleName() + " " + v + " " + (b.position() == 0 ? "-" : HexFormat.of().formatHex(b.array(), 0, b.position())));
      }
    }
  }
}
