#if Tools
import Foundation
import Hummingbird
import Logging
import NIOCore

/// The application: every route behind the switches, on the loopback interface only.
struct Server {
    let options: Options

    func run() async throws {
        let cities = try CityStore(Data(contentsOf: options.data.appending(path: "cities.json")))
        if options.exitsWithStandardInput { Self.exitWithStandardInput() }
        // Without graceful shutdown, because a request on /wire/hang would hold it up forever.
        try await application(serving: router(cities)).runService(gracefulShutdownSignals: [])
    }

    private func router(_ cities: CityStore) -> Router<SampleContext> {
        let router = Router(context: SampleContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: SwitchMiddleware())
        GuideRoute().add(to: router)
        CityRoutes(store: cities).add(to: router)
        NoteRoutes().add(to: router)
        SessionRoutes().add(to: router)
        FeedRoutes(store: cities).add(to: router)
        WireRoutes().add(to: router)
        return router
    }

    private func application(serving router: Router<SampleContext>) -> some ApplicationProtocol {
        var logger = Logger(label: "SampleAPI")
        logger.logLevel = .critical
        return Application(
            router: router,
            configuration: .init(
                address: .hostname("127.0.0.1", port: options.port),
                serverName: "SampleAPI",
                // Several hundred clients may come in the same instant; those beyond it are turned away after a minute.
                backlog: 4096
            ),
            onServerRunning: Self.announce,
            logger: logger
        )
    }

    /// The one line on standard output; whoever started the server reads the port from it.
    @Sendable private static func announce(_ channel: any Channel) async {
        let port = channel.localAddress?.port ?? 0
        FileHandle.standardOutput.write(Data("listening on http://127.0.0.1:\(port)\n".utf8))
    }

    /// A thread of its own, because reading to the end blocks until whoever holds the other end is gone.
    private static func exitWithStandardInput() {
        Thread.detachNewThread {
            _ = try? FileHandle.standardInput.readToEnd()
            exit(0)
        }
    }
}
#endif
