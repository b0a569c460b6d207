#if Tools
import ArgumentParser
import Diamond

/// The server of a command's queue.
struct QueueServerOption: ParsableArguments {
    static let variable = "DIAMOND_QUEUE"

    @Option(
        name: .customLong("queue"),
        help: ArgumentHelp("The queue on a server: postgresql://USER@HOST/DATABASE.", valueName: "URL"))
    var url: String?

    func validate() throws { try ServerURL.check(url, option: "--queue") }

    func place(besides store: PlaceOptions) throws -> Place { try Place(url, or: Self.variable, besides: store) }

    /// The option for another command, after a space.
    var optionText: String? { url.map { " --queue=\($0.shellArgument)" } }
}

/// The queue of a command, and the keys that seal it.
struct QueueOptions: ParsableArguments {
    @OptionGroup var store: PlaceOptions

    @OptionGroup var server: QueueServerOption

    @OptionGroup var sealing: SealOptions

    func validate() throws {
        guard server.url == nil || !store.isNamed else {
            throw ValidationError("--queue and --store or --app name two queues: leave one out")
        }
        guard server.url == nil || sealing.keyFiles.isEmpty else {
            throw ValidationError("the queue of a server is not sealed: leave --key-file out")
        }
    }

    var json: Bool { store.json }

    /// The options that select the same queue for another command, each after a space.
    var optionText: String { server.optionText ?? store.optionText }

    /// Opens the queue.
    ///
    /// - Parameter create: Whether a missing queue is created, and one in clear sealed. Otherwise throws if there is
    ///   none.
    func openQueue(create: Bool = false) async throws -> ReplayQueue {
        try await server.place(besides: store).queue(sealing.seal(), create: create)
    }

    /// Opens the queue. Returns `nil` if the store or the server exists and has no queue, and throws if there is no
    /// store.
    func findQueue() async throws -> ReplayQueue? {
        do {
            return try await openQueue()
        } catch let error as ReplayError {
            let isThere = try server.place(besides: store).store?.isThere ?? true
            guard error.code == .noStore, isThere else { throw error }
            return nil
        }
    }
}
#endif
