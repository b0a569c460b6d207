#if Tools
import ArgumentParser
import Diamond
import Foundation

struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Shows the cache and the queue in a browser.",
        discussion: """
            Prints a URL, and serves pages until Ctrl-C: the hit ratio and sizes as they change, the entries, one entry \
            with what decides about it, and the requests that wait in the queue. Listens only on this machine. The \
            token in the URL works once: the browser then has a cookie. Secrets are shown only as •••.

            Changes nothing. With --write, pages can also invalidate, purge and pin entries, manage jobs, and send \
            requests.

            EXAMPLE
              cachectl serve --app com.example.App
            """
    )

    @OptionGroup var store: StoreOptions
    @OptionGroup var queue: QueueServerOption

    @Option(help: ArgumentHelp("Listen on this port of 127.0.0.1 (default: a free one).", valueName: "N"))
    var port: UInt16?

    @Flag(help: "Allow pages to change the cache and the queue, and to send requests.")
    var write = false

    func run() async throws {
        signal(SIGPIPE, SIG_IGN)
        let inspector = try Inspector(cache: store, queue: queue, isWritable: write)
        let server = InspectorServer(inspector: inspector, session: Session())
        do { try await serve(server) } catch {
            await inspector.close()
            throw error
        }
        await inspector.close()
    }

    /// Serves until a signal.
    private func serve(_ server: InspectorServer) async throws {
        let serving = Task { [port, store] in
            try await server.run(port: Int(port ?? 0)) { url in
                if store.json { Output.jsonLine(["url": url]) } else { Output.line(url) }
            }
        }
        let sampling = Task { await server.inspector.samples.run { try await server.inspector.queue() } }
        let interruption = Interruption { serving.cancel() }
        defer {
            interruption.end()
            sampling.cancel()
        }
        do {
            try await serving.value
        } catch is CancellationError {
            return
        } catch {
            let message = "cannot listen on 127.0.0.1:\(port ?? 0): \(Failure.text(of: error)): give another --port"
            throw Failure.report(Failure.usage, message)
        }
    }
}
#endif
