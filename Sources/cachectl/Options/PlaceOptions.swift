#if Tools
import ArgumentParser
import Diamond

/// The store or the server of a command, the keys that seal the store, and the format of the output.
///
/// Has all options itself: in debug builds, the parser takes four times as long for each level of nested groups.
struct PlaceOptions<Server: ServerKind>: ParsableArguments {
    @Option(help: .store, completion: .directory)
    var store: String?

    @Option(help: .app)
    var app: String?

    @Flag(help: .json)
    var json = false

    @Option(name: .customLong(Server.option), help: Server.help)
    var url: String?

    @Option(name: .customLong("key-file"), help: .keyFiles, completion: .file())
    var keyFiles: [String] = []

    @Option(name: .customLong("key-id"), help: .keyIDs)
    var keyIDs: [String] = []

    func validate() throws {
        try place.check()
        try ServerURL.check(url, option: "--\(Server.option)")
        try Server.check(self)
    }

    var place: StoreChoice { StoreChoice(store: store, app: app) }

    var sealing: SealKeys { SealKeys(files: keyFiles, ids: keyIDs) }

    /// The options that select the same place for another command, each after a space.
    var optionText: String { url.map { " --\(Server.option)=\($0.shellArgument)" } ?? place.optionText }

    /// The store or the server that the options and the environment name.
    func chosenPlace() throws -> Place { try Place(url, or: Server.variable, besides: place) }
}

/// The store of a command that opens none, and the format of the output.
struct StoreChoiceOptions: ParsableArguments {
    @Option(help: .store, completion: .directory)
    var store: String?

    @Option(help: .app)
    var app: String?

    @Flag(help: .json)
    var json = false

    func validate() throws { try place.check() }

    var place: StoreChoice { StoreChoice(store: store, app: app) }
}

/// The help of options that several commands have outside of ``PlaceOptions``.
extension ArgumentHelp {
    static let store = ArgumentHelp("The store's directory.", valueName: "DIR")
    static let app = ArgumentHelp(
        "The store of a program: its bundle identifier, or the name of its executable.", valueName: "NAME")
    static let json = ArgumentHelp("Print JSON instead of text.")
    static let keyFiles = ArgumentHelp(
        "The key of a sealed store: a file that only its owner can read, with hexadecimal digits, base64 or raw bytes. "
            + "Repeat it for older keys.",
        valueName: "FILE")
    static let keyIDs = ArgumentHelp(
        "The name of the key, if it has one. Repeat it for older keys, in the same order.", valueName: "ID")
}

/// The queue of a command, and the keys that seal it.
typealias QueueOptions = PlaceOptions<QueueServer>

extension QueueOptions {
    /// Opens the queue.
    ///
    /// - Parameter create: Whether a missing queue is created, and one in clear sealed. Otherwise throws if there is
    ///   none.
    func openQueue(create: Bool = false) async throws -> ReplayQueue {
        try await chosenPlace().queue(sealing.seal(), create: create)
    }

    /// Opens the queue. Returns `nil` if the store or the server exists and has no queue, and throws if there is no
    /// store.
    func findQueue() async throws -> ReplayQueue? {
        do {
            return try await openQueue()
        } catch let error as ReplayError {
            let isThere = try chosenPlace().store?.isThere ?? true
            guard error.code == .noStore, isThere else { throw error }
            return nil
        }
    }
}
#endif
