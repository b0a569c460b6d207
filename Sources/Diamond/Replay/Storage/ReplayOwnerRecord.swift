/// An owner: a process, or a part of one, that claims jobs.
public struct ReplayOwnerRecord: Hashable, Sendable, Identifiable {
    /// A program that registers an owner.
    public struct Program: Hashable, Sendable {
        /// The id of the process on its machine.
        public var process: Int32
        /// The name of the program.
        public var name: String
        /// Whether the system may end the process at any time. Such an end does not count as a death that a job has
        /// caused.
        public var isSuspended: Bool

        /// Creates the description of a program.
        public init(process: Int32, name: String, isSuspended: Bool = false) {
            self.process = process
            self.name = name
            self.isSuspended = isSuspended
        }
    }

    /// The owner's number; none is used twice.
    public let id: Int64
    /// The end of its lease by the storage's clock for leases, in milliseconds. It shows whether the lease was renewed.
    public let leaseEnd: Int64
    /// Whether its process or its lease has ended.
    public let isDead: Bool
    /// Whether one of its jobs may have caused its end.
    public let mayHaveCrashed: Bool

    /// Creates a record from its parts.
    public init(id: Int64, leaseEnd: Int64, isDead: Bool, mayHaveCrashed: Bool) {
        self.id = id
        self.leaseEnd = leaseEnd
        self.isDead = isDead
        self.mayHaveCrashed = mayHaveCrashed
    }
}

/// The result of rescuing the jobs of dead owners.
public struct ReplayRescue: Hashable, Sendable {
    /// The number of owners that were removed.
    public var owners: Int
    /// The new states, dead or in review, of jobs that were ended.
    public var ends: [ReplayState]

    /// Creates a result.
    public init(owners: Int, ends: [ReplayState]) {
        self.owners = owners
        self.ends = ends
    }
}
