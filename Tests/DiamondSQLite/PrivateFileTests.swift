import DiamondTestSupport
import Foundation
import Testing

@testable import DiamondSQLite

@Suite("A private file") struct PrivateFileTests {
    private let folder = TemporaryFolder()

    private func path(_ name: String) -> String { folder.url.appending(path: name).path }

    enum WrongFile: CaseIterable, Sendable {
        case link, danglingLink, pipe, socket

        func create(_ path: String, victim: String) throws {
            switch self {
            case .link: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: victim)
            case .danglingLink:
                try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: victim + "-none")
            case .pipe: try #require(mkfifo(path, 0o600) == 0)
            case .socket: try #require(mknod(path, S_IFSOCK | 0o600, 0) == 0)
            }
        }
    }

    @Test func `is created for its owner only, and opened again`() throws {
        for _ in 0..<2 { close(try PrivateFile.open(path("a"), access: O_RDWR | O_CREAT)) }
        let mode = try FileManager.default.attributesOfItem(atPath: path("a"))[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
    }

    @Test(arguments: WrongFile.allCases) func `a link or a pipe in place of a private file is refused`(
        wrongFile: WrongFile
    ) throws {
        let victim = try folder.file("victim", Data("victim".utf8))
        try wrongFile.create(path("a"), victim: victim.path)
        let error = #expect(throws: SQLiteError.self) { try PrivateFile.open(path("a"), access: O_RDWR | O_CREAT) }
        #expect(error?.code == .notAFile)
        #expect(error?.summary.hasPrefix(path("a")) == true)
        #expect(error?.summary.hasSuffix("remove it, or use another store directory") == true)
        #expect(folder.names == ["a", "victim"] && folder.text(of: victim) == "victim")
    }

    @Test(arguments: WrongFile.allCases, ["", "-wal", "-shm", "-journal"])
    func `a link or a pipe in place of a database file is refused`(wrongFile: WrongFile, suffix: String) throws {
        let file = TemporaryFile()
        if !suffix.isEmpty { _ = try file.open() }
        for suffix in suffix.isEmpty ? [] : ["-wal", "-shm"] { unlink(file.path + suffix) }
        let victim = try folder.file("victim", Data("victim".utf8))
        try wrongFile.create(file.path + suffix, victim: victim.path)
        #expect(throws: SQLiteError.self) { try file.open() }
        let error = #expect(throws: SQLiteError.self) {
            try SQLiteDatabase.inspect(at: file.path, configuration: TemporaryFile.configuration()) {
                (connection) throws(SQLiteError) in try connection.integer("PRAGMA page_count")
            }
        }
        #expect(error?.code == .notAFile && folder.text(of: victim) == "victim")
    }

    private func mode(_ url: URL) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? NSNumber).intValue
    }

    private func expectNoFile(_ file: TemporaryFile, mode: Int) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: file.directory.path)
        for body in [{ _ = try file.open() }, { close(try PrivateFile.open(file.path, access: O_RDWR | O_CREAT)) }] {
            let error = #expect(throws: SQLiteError.self) { try body() }
            #expect(error?.code == .notPrivate && error?.summary.contains("chmod go-w") == true)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: file.directory.path) == names)
        #expect(try self.mode(file.directory) == mode)
    }

    @Test(arguments: [0o777, 0o702, 0o772, 0o1777])
    func `is refused in a directory that every user may write to`(mode: Int) throws {
        let file = TemporaryFile()
        chmod(file.directory.path, mode_t(mode))
        try expectNoFile(file, mode: mode)
        chmod(file.directory.path, 0o755)
        _ = try file.open()
    }

    @Test(arguments: [0o664, 0o640, 0o604, 0o2770])
    func `is refused in a group-writable directory with files that others may access`(
        mode: Int
    ) throws {
        let file = TemporaryFile()
        _ = try file.open()
        let other = file.directory.appending(path: "notes")
        if mode & 0o100 == 0 {
            try Data().write(to: other)
        } else {
            try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
        }
        chmod(other.path, mode_t(mode))
        chmod(file.directory.path, 0o775)
        try expectNoFile(file, mode: 0o775)
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives files away"))
    func `is refused in a group-writable directory with a file of another user`() throws {
        let file = TemporaryFile()
        try Data().write(to: file.directory.appending(path: "notes"))
        chmod(file.directory.appending(path: "notes").path, 0o600)
        try #require(chown(file.directory.appending(path: "notes").path, 12345, 12345) == 0)
        chmod(file.directory.path, 0o775)
        try expectNoFile(file, mode: 0o775)
    }

    // The umask 002 gives `mkdir` this mode.
    @Test(arguments: [(0o775, 0o755), (0o770, 0o750), (0o720, 0o700), (0o2775, 0o2755)], [true, false])
    func `opening a private file removes the group's write permission from a directory whose files are all its owner's`(
        modes: (Int, Int), isNew: Bool
    )
        throws
    {
        let file = TemporaryFile()
        if !isNew {
            _ = try file.open()
            try FileManager.default.createDirectory(
                at: file.directory.appending(path: "own"), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }
        for body in [{ _ = try file.open() }, { close(try PrivateFile.open(file.path, access: O_RDWR | O_CREAT)) }] {
            chmod(file.directory.path, mode_t(modes.0))
            try body()
            #expect(try mode(file.directory) == modes.1)
        }
    }

    @Test func `may be in a linked directory, and stays there when the link changes`() throws {
        let (file, other) = (TemporaryFile(), TemporaryFile())
        let link = path("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file.directory.path)
        let database = try SQLiteDatabase(path: link + "/test.sqlite", configuration: TemporaryFile.configuration())
        try FileManager.default.removeItem(atPath: link)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: other.directory.path)
        let version = try database.read { (connection) throws(SQLiteError) in
            try connection.integer("PRAGMA user_version")
        }
        #expect(version == 1)
        #expect(throws: SQLiteError.self) { try PrivateFile.checkDirectory(link, isOwn: true) }
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives files away"))
    func `a file or a directory of another user is refused`()
        throws
    {
        let file = TemporaryFile()
        _ = try file.open()
        for path in [file.path, file.directory.path] {
            try #require(chown(path, 12345, 12345) == 0)
            let error = #expect(throws: SQLiteError.self) { try file.open() }
            #expect(error?.code == .notOurs && error?.summary.contains("another user, 12345") == true)
            #expect(error?.summary.contains("as that user (sudo -u, docker run --user)") == true)
            try #require(chown(path, 0, 0) == 0)
        }
    }
}
