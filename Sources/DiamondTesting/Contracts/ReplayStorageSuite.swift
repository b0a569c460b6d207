public import Diamond

/// The contract of ``/Diamond/ReplayStorage`` as checks, for the tests of a driver.
///
/// ```swift
/// let suite = ReplayStorageSuite { try await DriverPlace() }
///
/// @Test(arguments: ReplayStorageSuite.Check.all)
/// func `the driver keeps the contract`(_ check: ReplayStorageSuite.Check) async {
///     #expect(await suite.failure(of: check) == nil)
/// }
/// ```
///
/// It needs no test framework: a failure is a text.
public struct ReplayStorageSuite: Sendable {
    /// A store of jobs that is empty at first, and is used by several processes.
    public protocol Place: Sendable {
        /// Opens one more instance, as another process would. Its owners count as dead when it is released.
        func open() async throws -> any ReplayStorage
        /// Moves the storage's clock, by which jobs wait and leases end, forward.
        func advance(by duration: Duration) async throws
    }

    /// A part of the contract.
    public struct Check: ContractCheck {
        /// The rule, as a sentence.
        public let description: String
        let body: @Sendable (ReplayStorageRun) async throws -> Void

        init(_ description: String, _ body: @escaping @Sendable (ReplayStorageRun) async throws -> Void) {
            self.description = description
            self.body = body
        }

        /// All checks.
        public static let all = adding + naming + sending + owners + managing + reading + simulations
    }

    private let makePlace: @Sendable () async throws -> any Place

    /// Creates the suite of a driver.
    ///
    /// - Parameter makePlace: makes the place of one check.
    public init(_ makePlace: @escaping @Sendable () async throws -> any Place) { self.makePlace = makePlace }

    /// Runs one check in a place of its own.
    ///
    /// - Returns: the failure, in one line; `nil` if the driver keeps this part of the contract.
    public func failure(of check: Check) async -> String? {
        await check.failure {
            let place = try await makePlace()
            return ReplayStorageRun(place: place, storage: try await place.open())
        }
    }

    /// Runs all checks, one after another.
    ///
    /// - Returns: the failures; empty if the driver keeps the contract.
    public func failures() async -> [String] {
        var failures: [String] = []
        for check in Check.all {
            if let failure = await failure(of: check) { failures.append(failure) }
        }
        return failures
    }

    /// Runs unreliable producers and workers, whose steps are drawn from a seed, in a place of their own.
    ///
    /// - Returns: the rule that was broken, in one line: a job was lost, repeated or reordered; `nil` for none.
    public func violation(seed: UInt64, steps: Int) async -> String? {
        await failure(
            of: Check("seed \(seed)") { run in
                var simulation = try await ReplayStorageSimulation(run, seed: seed)
                try await simulation.take(steps)
            })
    }
}

extension ReplayStorageSuite.Check {
    fileprivate static let simulations = (UInt64(1)...5).map { seed in
        Self("random steps lose no job, and repeat or reorder none, seed \(seed)") { run in
            var simulation = try await ReplayStorageSimulation(run, seed: seed)
            try await simulation.take(400)
        }
    }
}
