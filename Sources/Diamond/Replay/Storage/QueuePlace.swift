/// The place of an engine's queue: the file of its store, or a server that the processes of a fleet share.
///
/// A module with a ``ReplayStorage`` adds places in an extension:
///
/// ```swift
/// extension QueuePlace {
///     public static func database(_ address: Address) -> QueuePlace {
///         .server(address.description) { () throws(ReplayError) in DatabaseStorage(address) }
///     }
/// }
/// ```
public struct QueuePlace: Sendable {
    private enum Kind: Sendable {
        case store
        case storage(any ReplayStorage)
        case server(
            name: String, allowsClearText: Bool, open: @Sendable () throws(ReplayError) -> any ReplayStorage)
    }

    private let kind: Kind

    /// The name of the server or the storage in descriptions and messages; `nil` for the store.
    package var name: String? {
        switch kind {
        case .store: nil
        case .storage(let storage): storage.name
        case .server(let name, _, _): name
        }
    }

    /// The file `replay.sqlite` of ``Engine/Configuration/store``.
    public static let store = QueuePlace(kind: .store)

    /// A storage as it is. The engine's seal does not count for it.
    ///
    /// - Parameter storage: the storage, which no other queue uses: each engine has an instance of its own.
    public static func storage(_ storage: any ReplayStorage) -> QueuePlace {
        QueuePlace(kind: .storage(storage))
    }

    /// A storage on a server. While the server cannot be reached, jobs are added to a file below
    /// ``Store/replayDirectory``, and moved when it is back. That file is sealed if the engine has a seal. If it cannot
    /// be opened, the event ``ActivityEvent/queueFailed(reason:)`` says so. Then, and for an engine without a store,
    /// calls throw `unreachable`. If it cannot be opened for the moment, because the disk is full or the seal fails,
    /// ``Engine/queue()`` throws, and the next use of the queue tries again.
    ///
    /// - Parameters:
    ///   - name: the name of the server, without a password. Jobs that a process has left in a file are moved by the
    ///     next one that gives the same name.
    ///   - allowsClearText: whether an engine with a seal (``Engine/Configuration/seal``) may have its queue there,
    ///     although its jobs are not sealed on the server. By default, ``Engine/queue()`` throws `notSealed`.
    ///   - open: called when the engine is created, and again at the next use of the queue if it throws. It must not
    ///     wait for the server.
    public static func server(
        _ name: String, allowsClearText: Bool = false,
        open: @escaping @Sendable () throws(ReplayError) -> any ReplayStorage
    ) -> QueuePlace {
        QueuePlace(kind: .server(name: name, allowsClearText: allowsClearText, open: open))
    }

    /// Opens the storage of an engine's queue.
    ///
    /// - Parameters:
    ///   - store: the engine's store; `nil` for none.
    ///   - seal: the engine's seal; `nil` for none.
    ///   - seals: whether a store in clear, or sealed with an older key, is sealed.
    ///   - clock: the clock of the queue.
    ///   - report: receives the error if jobs cannot spill, the first error of each kind that keeps spilled jobs from
    ///     being moved to the server, and one for each job that the server refuses.
    func openStorage(
        of store: Store?, seal: (any CacheSeal)?, seals: Bool, clock: ReplayClock,
        reportingFailure report: @escaping @Sendable (ReplayError) -> Void
    ) throws(ReplayError) -> any ReplayStorage {
        switch kind {
        case .store:
            guard let store else { throw .noStore }
            return try SQLiteReplayStorage(store, seal: seal, clock: clock, create: true, seals: seals)
        case .storage(let storage): return storage
        case .server(let name, let allowsClearText, let open):
            guard seal == nil || allowsClearText else { throw .clearText(at: name) }
            let remote = try open()
            guard let store else { return remote }
            let directories = SpillDirectories(of: store, server: name, seal: seal, clock: clock)
            do throws(ReplayError) {
                return try SpillingReplayStorage(
                    remote, spillingInto: directories, clock: clock.sleep, reportingFailure: report)
            } catch {
                // The next use tries again. Otherwise jobs could not spill until the process ends.
                guard !error.isTransient else { throw error }
                let what = "jobs cannot be stored here while \(name) cannot be reached"
                report(ReplayError(error.code, "\(what): \(error.message)"))
                return remote
            }
        }
    }
}

extension ReplayError {
    /// The error of an engine that has no store, although its queue is to be in the store.
    static var noStore: ReplayError { ReplayError(.noStore, "the engine has no store: give its configuration one") }

    /// The error of an engine that has a seal, although its queue would be in clear.
    fileprivate static func clearText(at server: String) -> ReplayError {
        ReplayError(
            .notSealed,
            "the engine has a seal, and jobs at \(server) are not sealed: keep the queue in the store, leave the seal out, "
                + "or allow clear text there (allowsClearText)")
    }
}
