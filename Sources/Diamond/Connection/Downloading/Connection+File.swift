import DiamondSQLite
public import Foundation

/// Connections whose answers go into files.
extension Connection {
    /// Makes a connection without an engine that writes the body of its answer into a file.
    ///
    /// ```swift
    /// let connection = Connection(request, to: URL(filePath: "cities.zip"))
    /// engine.enqueue(connection)
    /// let download = try await connection.download
    /// ```
    ///
    /// It is a connection as any other, and does what ``Engine/download(_:to:limit:progress:)-(_,URL,_,_)`` says: the file
    /// appears whole, in place of what has its name, or not at all, and of a transfer that is paused or breaks the rest
    /// is asked for. Its ``response`` has no body. A status other than 2xx is the error `badStatus`, with the response; a
    /// file that cannot be written is `cannotWrite`, before anything is sent where that is known. A cancel that comes
    /// when the file is about to get its name may find it there.
    ///
    /// What was received goes with the connection: one made of a snapshot, or by another process, begins anew. It is not
    /// kept to be sent later, whatever ``Request/replay`` says.
    ///
    /// - Parameters:
    ///   - request: ``Request/bodyLimit`` bounds the file; the engine's is for bodies in memory.
    ///   - file: its directory has to be there when the connection is run.
    public convenience init(_ request: Request, to file: URL) {
        self.init(request)
        write(to: file)
    }

    /// Where the body of the answer goes; `nil` where it is collected.
    public var file: URL? { core.withLock { $0.file?.url } }

    /// The whole file, when it is there. Canceling the waiting task cancels the connection.
    ///
    /// - Throws: as ``response`` does; `badRequest` where the connection has no ``file``.
    public var download: Download {
        get async throws(ConnectionError) {
            let response = try await response
            guard let file = core.withLock({ $0.file }), let size = file.size else {
                let message = "the answer to \(request) is no file: make the connection with init(_:to:)"
                throw ConnectionError(.badRequest, message)
            }
            return Download(response, in: file.url, size: size)
        }
    }

    /// - Parameter size: of the file that is there, where the connection has ended.
    func write(to file: URL, size: Int? = nil) {
        let file = ConnectionFile(file, size: size)
        core.withLock { $0.file = file }
    }
}
