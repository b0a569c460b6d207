#if Tools
import CDiamondInspector
import Foundation

/// The files of the pages, which are compiled into the program.
enum Assets {
    static let path = "/assets/"

    /// The files by name.
    static let files: [String: Data] = {
        var files: [String: Data] = [:]
        while case let asset = inspector_asset(files.count), let name = asset.name, let bytes = asset.bytes {
            files[String(cString: name)] = Data(bytes: bytes, count: asset.size)
        }
        return files
    }()

    /// The text of a file; empty if there is none.
    static func text(_ name: String) -> String { String(decoding: files[name] ?? Data(), as: UTF8.self) }

    static let route = Route.page(path + "{name}") { request, _ in
        let name = request.path["name"] ?? ""
        guard let type = types[URL(filePath: name).pathExtension], let file = files[name] else {
            throw PageProblem.missing("There is no such file.")
        }
        return .bytes(file, type: type)
    }

    private static let types = [
        "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml",
    ]
}
#endif
