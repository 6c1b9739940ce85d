/** What holds the protocol together, each rule by itself, so that the model can be walked without one of them. */
export interface Rules {
  /** `start` and `join` check the session in the commit that makes the association. */
  readonly startChecksSession: boolean;
  /** A verb looks at the sessions that worked in the branch before it decides. */
  readonly verbsMeetSessions: boolean;
  /** Whoever is about to act on a session's end by time first closes it in the table. */
  readonly closesBeforeActing: boolean;
  /** Work in a branch names the branch's version, so does every verb. */
  readonly workNamesBranch: boolean;
  readonly prepareNamesBranch: boolean;
  readonly completionNamesBranch: boolean;
  readonly doomNamesBranch: boolean;
  /** Each part of a large branch is applied in the commit that shortens the branch's list. */
  readonly partsAreListed: boolean;
  /** An acquire names the version of the run that it read. */
  readonly acquireNamesRun: boolean;
  /** A settling, in a branch or out of it, must name the token of the lease. */
  readonly settlingNamesLease: boolean;
  readonly settlingNamesRun: boolean;
  /** An acquire looks at the session before it breaks its lease, and leaves held messages alone. */
  readonly acquireSparesLeases: boolean;
  readonly acquireSparesHolds: boolean;
  /** A prepared branch has neither deadline nor owner. */
  readonly preparedIsKept: boolean;
  /** Whoever meets a doomed branch whose work is not undone yet goes on with that. */
  readonly undoingGoesOn: boolean;
  /** A branch is completed whole: its list is applied in the commit that ends it. */
  readonly completionIsWhole: boolean;
  /** A branch is prepared or committed only when every association has ended. */
  readonly completionAwaitsEnd: boolean;
  /** A keep-alive renews only a session that it found alive. */
  readonly keepAliveIsFenced: boolean;
  /** A session does not work in a branch that it has suspended, and is associated with it all the same. */
  readonly suspendedMayNotWork: boolean;
  readonly suspendedIsAssociated: boolean;
  /** By hand, only a prepared branch is decided. */
  readonly heuristicNeedsPrepared: boolean;
  /** What was decided by hand is decided by no commit or rollback any more. */
  readonly heuristicIsFinal: boolean;
  /** A decision by hand and a forget name the branch's version. */
  readonly heuristicNamesBranch: boolean;
  readonly forgetNamesBranch: boolean;
}

export const asBuilt: Rules = {
  startChecksSession: true,
  verbsMeetSessions: true,
  closesBeforeActing: true,
  workNamesBranch: true,
  prepareNamesBranch: true,
  completionNamesBranch: true,
  doomNamesBranch: true,
  partsAreListed: true,
  acquireNamesRun: true,
  settlingNamesLease: true,
  settlingNamesRun: true,
  acquireSparesLeases: true,
  acquireSparesHolds: true,
  preparedIsKept: true,
  undoingGoesOn: true,
  completionIsWhole: true,
  completionAwaitsEnd: true,
  keepAliveIsFenced: true,
  suspendedMayNotWork: true,
  suspendedIsAssociated: true,
  heuristicNeedsPrepared: true,
  heuristicIsFinal: true,
  heuristicNamesBranch: true,
  forgetNamesBranch: true,
};
