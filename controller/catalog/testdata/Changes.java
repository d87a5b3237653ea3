package org.apache.kafka.controller;

import java.nio.ByteBuffer;
import java.util.*;
import java.util.stream.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.*;
import org.apache.kafka.metadata.*;
import org.apache.kafka.server.common.*;

/** Prints random partition states, wanted changes and the records that Kafka's own PartitionChangeBuilder makes of them. */
public class Changes {
  static Random rnd = new Random(44);
  static List<Integer> pick(List<Integer> from, int n) { List<Integer> l = new ArrayList<>(from); Collections.shuffle(l, rnd); return new ArrayList<>(l.subList(0, Math.min(n, l.size()))); }
  static String s(Collection<Integer> l) { return l == null ? "~" : l.isEmpty() ? "-" : l.stream().map(String::valueOf).collect(Collectors.joining(",")); }
  static int[] a(Collection<Integer> l) { return l.stream().mapToInt(x -> x).toArray(); }
  static Uuid dir(int n) { return new Uuid(0x1000L, n); }
  public static void main(String[] args) {
    List<Integer> all = List.of(1, 2, 3, 4, 5, 6);
    for (int i = 0; i < Integer.parseInt(args[0]); i++) {
      boolean elrOn = rnd.nextInt(4) != 0;
      short level = new short[]{7, 11, 12, 16, 17, 22, 23, 33, 33, 33}[rnd.nextInt(10)];
      if (elrOn && level < 23) level = 33;
      List<Integer> replicas = pick(all, 1 + rnd.nextInt(4));
      List<Integer> isr = pick(replicas, rnd.nextInt(replicas.size() + 1));
      if (isr.isEmpty() && !elrOn) isr = pick(replicas, 1);
      List<Integer> rest = new ArrayList<>(replicas); rest.removeAll(isr);
      List<Integer> elr = elrOn && rnd.nextBoolean() ? pick(rest, rnd.nextInt(rest.size() + 1)) : new ArrayList<>();
      Collections.sort(elr);
      int leader = isr.isEmpty() || rnd.nextInt(4) == 0 ? -1 : isr.get(rnd.nextInt(isr.size()));
      List<Integer> last = elrOn && leader == -1 && rnd.nextInt(3) != 0 ? pick(replicas, 1) : new ArrayList<>();
      List<Integer> removing = new ArrayList<>(), adding = new ArrayList<>();
      if (rnd.nextInt(3) == 0) { adding = pick(replicas, rnd.nextInt(3)); List<Integer> others = new ArrayList<>(replicas); others.removeAll(adding); removing = pick(others, rnd.nextInt(3)); }
      int recovery = isr.size() == 1 && rnd.nextInt(4) == 0 ? 1 : 0;
      Uuid[] dirs = new Uuid[replicas.size()];
      for (int j = 0; j < dirs.length; j++) dirs[j] = dir(replicas.get(j));
      PartitionRegistration p = new PartitionRegistration.Builder().setReplicas(a(replicas)).setDirectories(dirs).setIsr(a(isr)).setElr(a(elr)).setLastKnownElr(a(last))
        .setRemovingReplicas(a(removing)).setAddingReplicas(a(adding)).setLeader(leader).setLeaderEpoch(5).setPartitionEpoch(9).setLeaderRecoveryState(LeaderRecoveryState.of((byte) recovery)).build();
      int minISR = 1 + rnd.nextInt(replicas.size());
      Set<Integer> alive = new TreeSet<>(pick(all, rnd.nextInt(7)));
      int election = rnd.nextInt(3);
      PartitionChangeBuilder b = new PartitionChangeBuilder(p, new Uuid(7, 7), 3, alive::contains, MetadataVersion.fromFeatureLevel(level), minISR, elrOn);
      b.setElection(PartitionChangeBuilder.Election.values()[election]);
      b.setDefaultDirProvider(id -> dir(100 + id));
      List<Integer> tIsr = null, tRep = null, tRem = null, tAdd = null; int restarted = -1, tRec = -1; int setDir = -1;
      if (rnd.nextInt(3) != 0) { tIsr = pick(replicas, rnd.nextInt(replicas.size() + 1)); if (rnd.nextInt(2) == 0) { tIsr = new ArrayList<>(isr); if (!tIsr.isEmpty()) tIsr.remove(rnd.nextInt(tIsr.size())); } b.setTargetIsr(tIsr); }
      if (rnd.nextInt(6) == 0) { restarted = replicas.get(rnd.nextInt(replicas.size())); b.setUncleanShutdownReplicas(List.of(restarted)); }
      if (rnd.nextInt(5) == 0) { tRep = pick(all, 1 + rnd.nextInt(4)); b.setTargetReplicas(tRep); }
      if (rnd.nextInt(6) == 0) { tAdd = pick(tRep == null ? replicas : tRep, rnd.nextInt(3)); b.setTargetAdding(tAdd); }
      if (rnd.nextInt(6) == 0) { tRem = pick(tRep == null ? replicas : tRep, rnd.nextInt(3)); b.setTargetRemoving(tRem); }
      if (rnd.nextInt(5) == 0) { tRec = rnd.nextInt(2); b.setTargetLeaderRecoveryState(LeaderRecoveryState.of((byte) tRec)); }
      if (rnd.nextInt(5) == 0) { setDir = replicas.get(rnd.nextInt(replicas.size())); b.setDirectory(setDir, dir(200 + setDir)); }
      Optional<ApiMessageAndVersion> r = b.build();
      String out = "none";
      if (r.isPresent()) { ObjectSerializationCache c = new ObjectSerializationCache(); Message m = r.get().message(); short v = r.get().version();
        ByteBuffer buf = ByteBuffer.allocate(m.size(c, v)); m.write(new ByteBufferAccessor(buf), c, v); out = v + ":" + HexFormat.of().formatHex(buf.array()); }
      System.out.println(String.join(" ", s(replicas), s(isr), s(elr), s(last), s(removing), s(adding), "" + leader, "" + recovery,
        "" + election, "" + minISR, "" + elrOn, "" + level, s(alive), s(tIsr), s(tRep), s(tRem), s(tAdd), "" + tRec, "" + restarted, "" + setDir, out));
    }
  }
}
