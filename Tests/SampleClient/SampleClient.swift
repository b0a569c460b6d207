#if Tools
import ArgumentParser
import Diamond
import Foundation

/// A terminal client for the sample API. It is written as an app would be: isolated to the main actor, with nothing but
/// the public interface of Diamond.
@main
struct SampleClient: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "SampleClient",
        abstract: "Shows cities and takes notes about them, also without a network.",
        discussion: """
            Start the sample API with scripts/serve. Every user has the password "diamond".

            EXAMPLE
              echo diamond | SampleClient login ann
              SampleClient search zur
              SampleClient note 2657896 "Swim in the lake"
            """,
        subcommands: [
            Login.self, Logout.self, Cities.self, Search.self, City.self, Countries.self, Watch.self, Note.self,
            Notes.self, Outbox.self, Sync.self, Download.self,
        ]
    )
}

/// The options of every command.
struct Options: ParsableArguments {
    @Option(help: "The URL of the sample API.") var server = "http://127.0.0.1:8080/"
    @Option(help: "The directory of cache, queue and session. Default: one for this program.") var store: String?
    // An app keeps its key in the keychain.
    @Option(help: "The file with the store's key, outside of the store. It is created if it is missing.")
    var keyFile = URL.homeDirectory.appending(path: ".sample-client-key").path

    /// Runs a command, and closes the engine, which writes the rest to disk.
    @MainActor func run(_ command: @MainActor (Client) async throws -> Void) async throws {
        let place = store.map { Store(directory: URL(filePath: $0, directoryHint: .isDirectory)) }
        let client = try Client(
            server: server, store: place ?? Store(named: "SampleClient"), key: URL(filePath: keyFile).key())
        do {
            try await command(client)
        } catch {
            await client.engine.close()
            throw error
        }
        await client.engine.close()
    }
}
#else
import Foundation

@main
enum SampleClient {
    static func main() {
        let command = "swift build --traits default,Tools --product SampleClient"
        FileHandle.standardError.write(Data("SampleClient is built only with the Tools trait: \(command)\n".utf8))
        exit(64)
    }
}
#endif
