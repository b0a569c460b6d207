#if Tools
import ArgumentParser

/// A kind of storage on a server: a cache or a queue.
protocol ServerKind {
    /// The option that names the server, without hyphens.
    static var option: String { get }
    /// The variable that names the server.
    static var variable: String { get }
    static var help: ArgumentHelp { get }

    /// Throws a usage error for options that contradict each other.
    static func check(_ options: PlaceOptions<Self>) throws
}

enum CacheServer: ServerKind {
    static let option = "cache"
    static let variable = "DIAMOND_CACHE"
    static let help = ArgumentHelp(
        "The cache on a server: valkey://HOST, or postgresql://USER@HOST/DATABASE.", valueName: "URL")

    // A command may use the cache of a server and the queue of a store.
    static func check(_ options: StoreOptions) {}
}

enum QueueServer: ServerKind {
    static let option = "queue"
    static let variable = "DIAMOND_QUEUE"
    static let help = ArgumentHelp("The queue on a server: postgresql://USER@HOST/DATABASE.", valueName: "URL")

    static func check(_ options: QueueOptions) throws {
        guard options.url == nil || !options.place.isNamed else {
            throw ValidationError("--queue and --store or --app name two queues: leave one out")
        }
        guard options.url == nil || options.keyFiles.isEmpty else {
            throw ValidationError("the queue of a server is not sealed: leave --key-file out")
        }
    }
}

/// The server of a command that also has ``StoreOptions``, or of one with two servers.
struct ServerOption<Server: ServerKind>: ParsableArguments {
    @Option(name: .customLong(Server.option), help: Server.help)
    var url: String?

    func validate() throws { try ServerURL.check(url, option: "--\(Server.option)") }

    func place(besides store: StoreChoice) throws -> Place { try Place(url, or: Server.variable, besides: store) }

    /// The option for another command, after a space.
    var optionText: String? { url.map { " --\(Server.option)=\($0.shellArgument)" } }
}

typealias QueueServerOption = ServerOption<QueueServer>
#endif
