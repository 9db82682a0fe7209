def run(input_files):
    return input_files
