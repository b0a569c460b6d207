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
    /// It does what ``Engine/download(_:to:limit:progress:)-(_,URL,_,_)`` says: the file appears whole, in place of the
    /// file with its name, or not at all. If the transfer is paused or breaks, only the rest is requested. The
    /// ``response`` has no body. A status other than 2xx is the error `badStatus`, with the response. A file that
    /// cannot be written is `cannotWrite`, before anything is sent where that is known. After a cancel that comes when
    /// the file is about to get its name, the file may be there.
    ///
    /// The received bytes belong to the connection: one made of a snapshot, or by another process, starts from the
    /// beginning. The request is not kept to be sent later, whatever ``Request/replay`` says.
    ///
    /// - Parameters:
    ///   - request: ``Request/bodyLimit`` bounds the file; the engine's is for bodies in memory.
    ///   - file: its directory has to be there when the connection is run.
    public convenience init(_ request: Request, to file: URL) {
        self.init(request)
        write(to: file)
    }

    /// The file to which the body of the answer is written; `nil` where the body is collected.
    public var file: URL? { core.withLock { $0.file?.url } }

    /// The downloaded file, returned when it is complete. Canceling the waiting task cancels the connection.
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
