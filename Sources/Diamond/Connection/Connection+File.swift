import DiamondSQLite
public import Foundation

/// Connections that write response bodies into files.
extension Connection {
    /// Creates a connection without an engine that writes the body of its response into a file.
    ///
    /// ```swift
    /// let connection = Connection(request, to: URL(filePath: "cities.zip"))
    /// engine.start(connection)
    /// let download = try await connection.download
    /// ```
    ///
    /// It works like ``Engine/download(_:to:limit:progress:)-(_,URL,_,_)``: the complete file replaces any file of the
    /// same name, or no file appears. If the transfer is paused or breaks, only the rest is requested. The ``response``
    /// has no body. A status other than 2xx is the error `badStatus`, with the response. A file that cannot be written
    /// is the error `cannotWrite`, before anything is sent if possible. If the connection is canceled while the file is
    /// being renamed, the file may exist.
    ///
    /// If the connection fails, its engine is closed or its process ends, the next download of the same request to the
    /// same path continues the file, in any process. If it is canceled, the received part is removed. The request is
    /// not queued to be sent later, whatever ``Request/replay`` says.
    ///
    /// - Parameters:
    ///   - request: the request. Its ``Request/bodyLimit`` bounds the file; the engine's limit is for bodies in memory.
    ///   - file: the URL of the file. Its directory has to exist when the connection is run.
    public convenience init(_ request: Request, to file: URL) {
        self.init(request)
        write(to: file)
    }

    /// The file to which the body of the response is written; `nil` if the body is collected in memory.
    public var file: URL? { core.withLock { $0.file?.url } }

    /// The downloaded file. Reading it waits until it is complete. Canceling the waiting task has the same effect as
    /// for ``response``.
    ///
    /// - Throws: the errors of ``response``; `badRequest` if the connection has no ``file``.
    public var download: Download {
        get async throws(ConnectionError) {
            let response = try await response
            guard let file = core.withLock({ $0.file }), let size = file.size else {
                let message = "the response to \(request) is in no file: create the connection with init(_:to:)"
                throw ConnectionError(.badRequest, message)
            }
            return Download(response, in: file.url, size: size)
        }
    }

    /// Cancels the connection, because its engine is closed or deallocated. A later process may continue its file,
    /// unless the app has canceled it before.
    func cancelKeepingFile() {
        core.withLock { $0.life.isSettled ? nil : $0.file }?.noteClosedEngine()
        cancel()
    }

    /// Sets the file that the body is written to.
    ///
    /// - Parameter size: the size of the complete file, if the connection has ended.
    func write(to file: URL, size: Int? = nil) {
        let file = ConnectionFile(file, size: size)
        core.withLock { $0.file = file }
    }
}
