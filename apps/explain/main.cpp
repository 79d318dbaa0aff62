// The `heddle-explain` program, started by `heddle explain`: its kernels report every memory access.
#include "apps/command/commands.h"

int main(int count, char** arguments) {
    // The first argument is the command's name, as for heddle-lab.
    return heddle::app::guarded([&] {
        const int skipped = count < 2 ? count : 2;
        return heddle::app::explain_command(heddle::app::Arguments(arguments + skipped, arguments + count));
    });
}
